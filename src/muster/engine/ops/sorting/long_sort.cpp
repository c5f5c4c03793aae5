#include "muster/engine/ops/sorting/long_sort.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/sorting/keys.h"
#include "muster/engine/ops/sorting/rank_brackets.h"
#include "muster/engine/ops/sorting/run_pieces.h"
#include "muster/engine/ops/sorting/runs.h"

namespace muster::engine {

namespace {

/// Calls `f` with a key of the type that runs carry.
template <class F>
void with_run(const Attributes& attributes, Type carried, F&& f) {
  if (attributes.get<bool>("pairs"))
    f(Pair{});
  else
    with_key(carried, f);
}

template <class T>
std::vector<std::span<const T>> spans_of(std::span<const Array> runs) {
  std::vector<std::span<const T>> spans;
  for (const Array& run : runs)
    spans.emplace_back(run.as<T>(), static_cast<std::size_t>(run.size()));
  return spans;
}

/// The keys of chunks that lie side by side, or pairs with places counted from `first`.
Array keys_of(KernelContext& context, bool pairs) {
  const std::span<const Array> inputs = context.inputs();
  Index size = 0;
  for (const Array& input : inputs) size += input.size();
  Array keys = context.make(carried_type(inputs.front().dtype().type, pairs), {size});
  std::byte* to = keys.mutable_data();
  Index first = pairs ? context.attributes().get<std::int64_t>("first") : 0;
  for (const Array& input : inputs) {
    if (pairs)
      pair_up(input, first, reinterpret_cast<Pair*>(to), context.memory());
    else
      encode_into(input, false, to);
    first += input.size();
    to += static_cast<std::size_t>(input.size()) * keys.item_size();
  }
  return keys;
}

void run_run(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const auto step = attributes.get<std::int64_t>("step");
  Array run = keys_of(context, attributes.get<bool>("pairs"));
  Array samples = context.make(run.dtype(), {sample_count(run.size(), step)});
  with_run(attributes, run.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    KeySorter().sort(run.mutable_as<T>(), static_cast<std::size_t>(run.size()));
    for (Index i = 0; i < samples.size(); ++i) samples.mutable_as<T>()[i] = run.as<T>()[i * step];
  });
  context.set(0, std::move(run));
  context.set(1, std::move(samples));
}
/// Pairs are made of the keys of one input after the other.
std::size_t run_scratch(const Attributes& attributes, std::span<const Index> input_bytes) {
  if (!attributes.get<bool>("pairs") || input_bytes.empty()) return 0;
  return static_cast<std::size_t>(*std::max_element(input_bytes.begin(), input_bytes.end()));
}
constexpr KernelRow kRun{"sort_run", run_run, run_scratch};

/// Begins and ends of pieces: a table of parts and runs each.
void run_brackets(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const auto step = attributes.get<std::int64_t>("step");
  const auto& ranks = attributes.get<Ints>("ranks");
  const auto& sizes = attributes.get<Ints>("sizes");
  const auto parts = static_cast<Index>(ranks.size()) - 1;
  const auto runs = static_cast<Index>(sizes.size());
  Array table = context.make(Type::i64, {2, parts, runs});
  auto* const begins = table.mutable_as<std::int64_t>();
  auto* const ends = begins + parts * runs;
  std::fill_n(begins, runs, 0);
  std::copy(sizes.begin(), sizes.end(), ends + (parts - 1) * runs);
  with_run(attributes, context.input(0).dtype().type, [&](auto zero) {
    using T = decltype(zero);
    const auto samples = spans_of<T>(context.inputs());
    for (Index part = 1; part < parts; ++part) {
      const RankBracket bracket =
          bracket_rank<T>(samples, sizes, step, ranks[static_cast<std::size_t>(part)]);
      std::copy(bracket.least.begin(), bracket.least.end(), begins + part * runs);
      std::copy(bracket.most.begin(), bracket.most.end(), ends + (part - 1) * runs);
    }
  });
  context.set(std::move(table));
}
constexpr KernelRow kBrackets{"bracket_cuts", run_brackets};

/// Inputs: run `number`, brackets.
void run_cut(KernelContext& context) {
  Array run = context.take_input(0);
  const Array& table = context.input(1);
  const bool copies = context.attributes().get<bool>("copies");
  const Index parts = table.shape()[1];
  const Index runs = table.shape()[2];
  const auto* begin = table.as<std::int64_t>() + context.attributes().get<std::int64_t>("number");
  std::vector<PieceRange> ranges;
  for (Index part = 0; part < parts; ++part, begin += runs)
    ranges.push_back({*begin, begin[parts * runs]});
  std::vector<Array> pieces = pieces_of(std::move(run), ranges);
  for (std::size_t part = 0; part < pieces.size(); ++part) {
    if (copies) {
      Array own = context.make(pieces[part].dtype(), pieces[part].shape());
      copy_items(pieces[part], own);
      pieces[part] = std::move(own);
    }
    context.set(part, std::move(pieces[part]));
  }
}
constexpr KernelRow kCut{.name = "cut_run", .run = run_cut, .cuts = true};

Array places_of(const Array& pairs, KernelContext& context) {
  Array places = context.make(Type::i64, pairs.shape());
  for (Index i = 0; i < pairs.size(); ++i)
    places.mutable_as<std::int64_t>()[i] = static_cast<std::int64_t>(pairs.as<Pair>()[i].place);
  return places;
}

/// Of all pieces in order, `size` items behind those that are skipped.
template <class T>
Array merged_part(KernelContext& context, std::span<const Array> pieces, Index skipped,
                  Index size) {
  const auto given = spans_of<T>(pieces);
  const auto& runs = context.attributes().get<Ints>("runs");
  std::vector<std::span<const T>> spans(given.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    spans[static_cast<std::size_t>(runs[i])] = given[i];
  const std::vector<Index> begins = cut_runs<T>(spans, skipped);
  const std::vector<Index> ends = cut_runs<T>(spans, skipped + size);
  for (std::size_t i = 0; i < spans.size(); ++i)
    spans[i] = spans[i].subspan(static_cast<std::size_t>(begins[i]),
                                static_cast<std::size_t>(ends[i] - begins[i]));
  Array merged = context.make(pieces.front().dtype(), {size});
  merge_runs<T>(std::move(spans), merged.mutable_as<T>());
  return merged;
}

/// Part `number`, which begins at `rank`; inputs: brackets, then its piece of each of `runs`.
void run_merge(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const std::span<const Array> pieces = std::span(context.inputs()).subspan(1);
  const auto runs = static_cast<Index>(pieces.size());
  const auto* const begins =
      context.input(0).as<std::int64_t>() + attributes.get<std::int64_t>("number") * runs;
  const Index skipped =
      attributes.get<std::int64_t>("rank") - std::accumulate(begins, begins + runs, Index{0});
  const auto& shape = attributes.get<Ints>("shape");
  with_run(attributes, pieces.front().dtype().type, [&](auto zero) {
    using T = decltype(zero);
    Array part = merged_part<T>(context, pieces, skipped, volume(shape));
    if constexpr (std::is_same_v<T, Pair>)
      part = places_of(part, context);
    else
      part = decoded(std::move(part), attributes.get<DType>("dtype"), context.memory());
    context.set(part.reshaped(context.memory(), shape));
  });
}

/// Pairs are merged before their places are taken.
std::size_t merge_scratch(const Attributes& attributes, std::span<const Index> input_bytes) {
  if (!attributes.get<bool>("pairs")) return 0;
  return static_cast<std::size_t>(
      std::accumulate(input_bytes.begin() + 1, input_bytes.end(), Index{0}));
}
constexpr KernelRow kMerge{"merge_pieces", run_merge, merge_scratch};

/// In which order runs are cut. The last that each thread made come first: they are in memory then,
/// if not all of them are. Threads take turns, because those of a cluster make a block of the runs
/// each, which are better cut where they are.
Ints order_of_cuts(Index runs, std::size_t threads) {
  const auto blocks = std::clamp<Index>(static_cast<Index>(threads), 1, runs);
  const auto begin_of = [&](Index block) { return runs * block / blocks; };
  Ints order;
  for (Index back = 1; static_cast<Index>(order.size()) < runs; ++back)
    for (Index block = blocks; block-- > 0;)
      if (begin_of(block + 1) - back >= begin_of(block))
        order.push_back(begin_of(block + 1) - back);
  return order;
}

}  // namespace

Type carried_type(Type items, bool places) { return places ? Type::c128 : key_type(items); }

std::vector<ChunkRef> sort_lane(TileContext& context, const SortPlan& plan,
                                const std::vector<std::vector<ChunkRef>>& runs,
                                const SortedLane& wanted) {
  const bool pairs = wanted.places;
  const Type carried = carried_type(context.input_meta(0).dtype.type, pairs);
  std::vector<ChunkRef> sorted;
  std::vector<ChunkRef> samples;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Index size = plan.runs[i];
    const std::uint32_t task = context.emit_many(
        kRun, {{"pairs", pairs}, {"first", pairs ? first : 0}, {"step", plan.step}}, runs[i],
        {{carried, {size}}, {carried, {sample_count(size, plan.step)}}});
    sorted.push_back({task, 0});
    samples.push_back({task, 1});
    first += size;
  }
  Ints ranks = {0};
  for (const Index part : plan.parts) ranks.push_back(ranks.back() + part);
  const auto parts = static_cast<Index>(plan.parts.size());
  const ChunkRef brackets = context.emit(
      kBrackets,
      {{"pairs", pairs}, {"step", plan.step}, {"ranks", ranks}, {"sizes", Ints(plan.runs)}},
      samples, {Type::i64, {2, parts, static_cast<Index>(runs.size())}});
  std::vector<std::uint32_t> cuts;
  for (std::size_t i = 0; i < runs.size(); ++i)
    cuts.push_back(context.emit_many(
        kCut, {{"number", static_cast<std::int64_t>(i)}, {"copies", plan.copies}},
        {sorted[i], brackets}, std::vector<Meta>(plan.parts.size(), {carried, {kUnknown}})));
  const Ints order = order_of_cuts(static_cast<Index>(runs.size()), context.options().threads);
  std::vector<ChunkRef> out;
  for (std::uint32_t part = 0; part < plan.parts.size(); ++part) {
    std::vector<ChunkRef> inputs = {brackets};
    for (const Index run : order) inputs.push_back({cuts[static_cast<std::size_t>(run)], part});
    out.push_back(context.emit(kMerge,
                               {{"number", std::int64_t{part}},
                                {"rank", ranks[part]},
                                {"pairs", pairs},
                                {"runs", order},
                                {"dtype", wanted.dtype},
                                {"shape", Ints(wanted.shapes[part])}},
                               std::move(inputs), {wanted.dtype, wanted.shapes[part]}));
  }
  return out;
}

void register_long_sort(Registry& registry) {
  for (const KernelRow* row : {&kRun, &kBrackets, &kCut, &kMerge}) registry.add(*row);
}

}  // namespace muster::engine
