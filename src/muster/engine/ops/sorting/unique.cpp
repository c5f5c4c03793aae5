#include "muster/engine/ops/sorting/unique.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/sorting/distinct.h"
#include "muster/engine/ops/sorting/runs.h"
#include "muster/engine/ops/sorting/sort_plan.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// At most `count` of sorted keys, evenly spaced.
Array samples_of(const Array& keys, Index count, KernelContext& context) {
  const Index size = std::min(count, keys.size());
  Array samples = context.make(keys.dtype(), {size});
  with_key(keys.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    for (Index i = 0; i < size; ++i)
      samples.mutable_as<T>()[i] = keys.as<T>()[(2 * i + 1) * keys.size() / (2 * size)];
  });
  return samples;
}

/// One chunk to its different keys, and samples of them.
constexpr KernelRow kDistinct{
    "distinct", [](KernelContext& context) {
      Array keys =
          distinct_keys(encoded(context.input(0), true, context.memory()), context.memory());
      context.set(1, samples_of(keys, context.attributes().get<std::int64_t>("samples"), context));
      context.set(0, std::move(keys));
    }};

/// The keys of all inputs, without repeats, as items.
void run_union(KernelContext& context) {
  Array merged;
  with_key(context.input(0).dtype().type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<std::span<const T>> spans;
    Index size = 0;
    for (const Array& run : context.inputs()) {
      spans.emplace_back(run.as<T>(), static_cast<std::size_t>(run.size()));
      size += run.size();
    }
    merged = context.make(context.input(0).dtype(), {size});
    merge_runs<T>(std::move(spans), merged.mutable_as<T>());
    T* const items = merged.mutable_as<T>();
    size = std::unique(items, items + size, same_key<T>) - items;
    merged = shortened(merged, size, context.memory());
  });
  context.set(
      decoded(std::move(merged), context.attributes().get<DType>("dtype"), context.memory()));
}
constexpr KernelRow kUnion{"union_of_runs", run_union};

/// Keys that cut the runs into about even parts; inputs: samples of each.
void run_bounds(KernelContext& context) {
  const auto parts = context.attributes().get<std::int64_t>("parts");
  with_key(context.input(0).dtype().type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> samples;
    for (const Array& each : context.inputs())
      std::copy_if(each.as<T>(), each.as<T>() + each.size(), std::back_inserter(samples),
                   [](const T& key) { return !is_nan_key(key); });  // they stay together
    std::sort(samples.begin(), samples.end(), KeyLess<T>());
    std::vector<T> bounds;
    for (Index part = 1; part < parts && !samples.empty(); ++part)
      bounds.push_back(samples[static_cast<std::size_t>(part) * samples.size() /
                               static_cast<std::size_t>(parts)]);
    Array out = context.make(context.input(0).dtype(), {static_cast<Index>(bounds.size())});
    std::copy(bounds.begin(), bounds.end(), out.mutable_as<T>());
    context.set(std::move(out));
  });
}
constexpr KernelRow kBounds{"bounds_of_runs", run_bounds};

/// A run cut at bounds; inputs: both. With few keys there may be fewer bounds than parts; the last
/// ones are empty then.
void run_split(KernelContext& context) {
  const Array& run = context.input(0);
  const Array& bounds = context.input(1);
  with_key(run.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    const T* const keys = run.as<T>();
    Index begin = 0;
    for (std::size_t part = 0; part < context.outputs().size(); ++part) {
      const auto number = static_cast<Index>(part);
      const Index end = number < bounds.size()
                            ? std::lower_bound(keys + begin, keys + run.size(),
                                               bounds.as<T>()[number], KeyLess<T>()) -
                                  keys
                            : run.size();
      context.set(part, run.slice({begin}, {end - begin}));
      begin = end;
    }
  });
}
constexpr KernelRow kSplit{.name = "split_run", .run = run_split, .cuts = true};

std::vector<Meta> infer_unique(const Call& call) {
  const Meta input = call.inputs[0].meta();
  if (input.shape.size() != 1)
    wrong_value(
        fmt::format("{}takes a tensor with one axis: {}", call.prefix(), text(input.shape)));
  return {{input.dtype, {kUnknown}}};
}

constexpr std::size_t kMostParts = 64;  // every part has a piece of every run
/// Chunks whose sizes nobody knows are runs as they are, up to so many.
constexpr std::size_t kMostUnknown = 512;

/// The input in runs.
Tiled cut_into_runs(TileContext& context, Index most, std::size_t key_size) {
  const Tiled& input = context.input(0);
  const std::vector<Index>& given = input.splits[0];
  if (!context.knows(0)) return input;
  const bool as_given = given.size() >= context.options().threads && given.size() <= kMostParts &&
                        *std::max_element(given.begin(), given.end()) <= most;
  if (as_given) return input;
  return rechunk(context, input, context.input_meta(0).dtype,
                 {sorting_runs(context.options(), given, key_size)});
}

/// The different keys of each run, and samples of them.
TileResult tile_distinct(TileContext& context) {
  constexpr Index kSamples = 100;  // for each part
  const DType dtype = context.input_meta(0).dtype;
  const Type key = key_type(dtype.type);
  const Index most = most_in_task(context.options(), item_size(key));
  const Tiled cut = cut_into_runs(context, most, item_size(key));
  const auto count = static_cast<Index>(cut.chunks.size());
  const Index parts = std::min(count, static_cast<Index>(kMostParts));
  const Attributes attributes = {
      {"samples", std::max<Index>(1, std::min(kSamples * parts, most / count))}};
  Tiled runs{{std::vector<Index>(cut.chunks.size(), kUnknown)}, {}};
  Tiled samples = runs;
  for (const ChunkRef chunk : cut.chunks) {
    const std::uint32_t task =
        context.emit_many(kDistinct, attributes, {chunk}, {{key, {kUnknown}}, {key, {kUnknown}}});
    runs.chunks.push_back({task, 0});
    samples.chunks.push_back({task, 1});
  }
  if (count == 1)
    return Tiled{runs.splits,
                 {context.emit(kUnion, {{"dtype", dtype}}, runs.chunks, {dtype, {kUnknown}})}};
  std::vector<ChunkRef> awaited = runs.chunks;
  return TileResult::wait_for(std::move(awaited), {std::move(runs), std::move(samples)});
}

TileResult tile_unique(TileContext& context) {
  if (context.kept().empty()) {
    const std::size_t chunks = context.input(0).chunks.size();
    if (!context.knows(0) && (chunks < context.options().threads || chunks > kMostUnknown))
      return context.wait_for_sizes({0});
    return tile_distinct(context);
  }
  constexpr Index kSmall = 1 << 20;
  const Tiled& runs = context.kept()[0];
  const DType dtype = context.input_meta(0).dtype;
  const Meta keys = {key_type(dtype.type), {kUnknown}};
  const Index size = std::accumulate(runs.splits[0].begin(), runs.splits[0].end(), Index{0});
  const auto join = [&](std::vector<ChunkRef> pieces) {
    return context.emit(kUnion, {{"dtype", dtype}}, std::move(pieces), {dtype, {kUnknown}});
  };
  if (size < std::min(kSmall, most_in_task(context.options(), item_size(keys.dtype))))
    return Tiled{{{kUnknown}}, {join(runs.chunks)}};
  const std::size_t parts = std::min(runs.chunks.size(), kMostParts);
  const ChunkRef bounds = context.emit(kBounds, {{"parts", static_cast<std::int64_t>(parts)}},
                                       context.kept()[1].chunks, keys);
  std::vector<std::uint32_t> splits;
  for (const ChunkRef run : runs.chunks)
    splits.push_back(context.emit_many(kSplit, {}, {run, bounds}, std::vector<Meta>(parts, keys)));
  Tiled out{{std::vector<Index>(parts, kUnknown)}, {}};
  for (std::uint32_t part = 0; part < parts; ++part) {
    std::vector<ChunkRef> pieces;
    for (const std::uint32_t split : splits) pieces.push_back({split, part});
    out.chunks.push_back(join(std::move(pieces)));
  }
  return out;
}

constexpr OperatorRow kUniqueRow{.name = "unique",
                                 .summary = "the different items, in order",
                                 .family = Family::sorting,
                                 .infer = infer_unique,
                                 .tile = tile_unique};

}  // namespace

Tensor unique(const Tensor& x) { return apply_one(kUniqueRow, {x}); }

void register_unique(Registry& registry) {
  registry.add(kUniqueRow);
  for (const KernelRow* row : {&kDistinct, &kUnion, &kBounds, &kSplit}) registry.add(*row);
}

}  // namespace muster::engine
