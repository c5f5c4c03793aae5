#include "muster/engine/ops/random/choice.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/random/batch.h"
#include "muster/engine/ops/random/distribution.h"
#include "muster/engine/ops/random/draws.h"
#include "muster/engine/ops/random/places.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/tile_context.h"
#include "muster/engine/value/starts.h"

namespace muster::engine::random {

namespace {

std::uint64_t key_of(const Attributes& attributes) {
  return static_cast<std::uint64_t>(attributes.get<std::int64_t>("key"));
}

/// Up to here a permutation is shuffled in memory by one thread: every order is equally likely.
constexpr Index kShuffled = 1 << 20;

/// A permutation of more numbers than anybody wants to keep at one place: each number is found from
/// its place alone, by a Feistel network over the next power of four. Places that it sends outside
/// are sent on until they are inside.
class Feistel {
 public:
  Feistel(std::uint64_t key, std::uint64_t count) : count_(count) {
    half_ = static_cast<unsigned>(std::bit_width(count - 1) + 1) / 2;
    mask_ = (std::uint64_t{1} << half_) - 1;
    Draws draws(key, 0);
    for (std::uint64_t& each : keys_) each = draws.word();
  }

  std::uint64_t operator()(std::uint64_t place) const {
    do place = pass(place);
    while (place >= count_);
    return place;
  }

 private:
  std::uint64_t pass(std::uint64_t place) const {
    std::uint64_t left = place >> half_;
    std::uint64_t right = place & mask_;
    for (const std::uint64_t key : keys_)
      left = std::exchange(right, left ^ (mixed(right ^ key) & mask_));
    return left << half_ | right;
  }

  static std::uint64_t mixed(std::uint64_t word) {
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9;
    word = (word ^ word >> 27) * 0x94D049BB133111EB;
    return word ^ word >> 31;
  }

  std::uint64_t count_;
  unsigned half_;
  std::uint64_t mask_;
  std::array<std::uint64_t, 10> keys_;
};

void run_permutation(KernelContext& context) {
  const auto n = context.attributes().get<std::int64_t>("n");
  const auto begin = context.attributes().get<std::int64_t>("begin");
  const auto count = context.attributes().get<std::int64_t>("count");
  const std::uint64_t key = key_of(context.attributes());
  if (n > kShuffled) {
    Array out = context.make(Type::i64, {count});
    const Feistel permute(key, static_cast<std::uint64_t>(n));
    for (Index i = 0; i < count; ++i)
      out.mutable_as<std::int64_t>()[i] =
          static_cast<std::int64_t>(permute(static_cast<std::uint64_t>(begin + i)));
    context.set(std::move(out));
    return;
  }
  Array all = context.make(Type::i64, {n});
  auto* const items = all.mutable_as<std::int64_t>();
  std::iota(items, items + n, std::int64_t{0});
  Draws draws(key, 0);
  for (Index i = 0; i < count; ++i)
    std::swap(items[i],
              items[i + static_cast<Index>(draws.below(static_cast<std::uint64_t>(n - i)))]);
  context.set(all.slice({0}, {count}));
}
constexpr KernelRow kPermutationKernel{"random_permutation", run_permutation};

std::vector<Meta> infer_permutation(const Call& call) {
  const auto n = call.attributes.get<std::int64_t>("n");
  const auto count = call.attributes.get<std::int64_t>("count", n);
  if (n < 0 || count < 0 || count > n)
    wrong_value(fmt::format("{}cannot take {} of {} numbers", call.prefix(), count, n));
  return {{Type::i64, {count}}};
}

TileResult tile_permutation(TileContext& context) {
  const Attributes& attributes = context.attributes();
  const auto n = attributes.get<std::int64_t>("n");
  const Index count = context.output().shape.front();
  Tiled out{{{count}}, {}};
  if (n > kShuffled)
    out.splits = decide_splits({count}, 8, attributes.find("chunk_size"), context.options(),
                               "random.permutation");
  const Starts start_of_chunk(out.splits);
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    const Shape extents = extents_at(out.splits, position);
    const Attributes own = {{"n", n},
                            {"key", attributes.get<std::int64_t>("key")},
                            {"begin", start_of_chunk(position).front()},
                            {"count", extents.front()}};
    out.chunks.push_back(context.emit(kPermutationKernel, own, {}, {Type::i64, extents}));
  });
  return out;
}

constexpr OperatorRow kPermutation{.name = "random.permutation",
                                   .summary = "numbers in random order",
                                   .family = Family::random,
                                   .infer = infer_permutation,
                                   .tile = tile_permutation};

void run_categorical(KernelContext& context) {
  const Array held = context.input(0).contiguous(context.memory());
  const auto* const sums = held.as<double>();
  const double total = sums[held.size() - 1];
  const std::uint64_t key = key_of(context.attributes());
  const Place place = Place::of(context.attributes());
  Array out = context.make(Type::i64, place.extents);
  std::array<double, kBatch> drawn;
  for_each_run(place, [&](std::uint64_t first, Index offset, Index count) {
    for (Index done = 0; done < count; done += kBatch) {
      const auto batch = static_cast<std::size_t>(std::min<Index>(kBatch, count - done));
      uniforms(key, first + static_cast<std::uint64_t>(done), batch, 0, total, drawn.data());
      std::int64_t* const to = out.mutable_as<std::int64_t>() + offset + done;
      for (std::size_t i = 0; i < batch; ++i)
        to[i] =
            std::min(std::upper_bound(sums, sums + held.size(), drawn[i]) - sums, held.size() - 1);
    }
  });
  context.set(std::move(out));
}
constexpr KernelRow kCategoricalKernel{"random_categorical", run_categorical};

void check_weights(const Call& call) {
  if (call.inputs.size() != 1 || call.inputs.front().dtype() != DType(Type::f64) ||
      call.inputs.front().ndim() != 1 || call.inputs.front().size() <= 0)
    wrong_value(fmt::format("{}takes one vector of float64 that is not empty", call.prefix()));
}

ChunkRef whole_input(TileContext& context) {
  const Splits whole = {{shape_of(context.input(0).splits).front()}};
  return rechunk(context, context.input(0), context.input_meta(0).dtype, whole).chunks.front();
}

TileResult tile_categorical(TileContext& context) {
  const ChunkRef sums = whole_input(context);
  const Attributes& attributes = context.attributes();
  const Shape size = context.output().shape;
  Tiled out{decide_splits(size, 8, attributes.find("chunk_size"), context.options(),
                          "random.categorical"),
            {}};
  const Starts start_of_chunk(out.splits);
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    Shape extents = extents_at(out.splits, position);
    const Attributes own = {{"key", attributes.get<std::int64_t>("key")},
                            {"whole", Ints(size)},
                            {"start", Ints(start_of_chunk(position))},
                            {"extents", Ints(extents)}};
    out.chunks.push_back(
        context.emit(kCategoricalKernel, own, {sums}, {Type::i64, std::move(extents)}));
  });
  return out;
}

constexpr OperatorRow kCategorical{
    .name = "random.categorical",
    .summary = "numbers below n; the running sums of their probabilities are given",
    .family = Family::random,
    .infer = [](const Call& call) -> std::vector<Meta> {
      check_weights(call);
      return {{Type::i64, call.attributes.ints("size")}};
    },
    .tile = tile_categorical};

/// Efraimidis and Spirakis: Weighted random sampling with a reservoir (2006): those with the
/// smallest exponentials of rate p come first.
void run_distinct(KernelContext& context) {
  const Array held = context.input(0).contiguous(context.memory());
  const auto* const p = held.as<double>();
  const auto count = context.attributes().get<std::int64_t>("count");
  std::vector<double> times(static_cast<std::size_t>(held.size()));
  exponentials(key_of(context.attributes()), 0, times.size(), times.data());
  std::vector<std::int64_t> order;
  for (Index i = 0; i < held.size(); ++i)
    if (p[i] > 0) {
      order.push_back(i);
      times[static_cast<std::size_t>(i)] /= p[i];
    }
  if (static_cast<Index>(order.size()) < count)
    wrong_value(
        fmt::format("[random.categorical_distinct] {} of {} probabilities are not zero, "
                    "fewer than the {} to be chosen",
                    order.size(), held.size(), count));
  std::partial_sort(order.begin(), order.begin() + count, order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      return std::pair(times[static_cast<std::size_t>(a)], a) <
                             std::pair(times[static_cast<std::size_t>(b)], b);
                    });
  Array out = context.make(Type::i64, {count});
  std::copy_n(order.begin(), count, out.mutable_as<std::int64_t>());
  context.set(std::move(out));
}
constexpr KernelRow kDistinctKernel{"random_categorical_distinct", run_distinct};

constexpr OperatorRow kDistinct{
    .name = "random.categorical_distinct",
    .summary = "different numbers below n, drawn with probabilities",
    .family = Family::random,
    .infer = [](const Call& call) -> std::vector<Meta> {
      check_weights(call);
      return {{Type::i64, {call.attributes.get<std::int64_t>("count")}}};
    },
    .tile = [](TileContext& context) -> TileResult {
      const Index count = context.output().shape.front();
      return Tiled{{{count}},
                   {context.emit(kDistinctKernel, context.attributes(), {whole_input(context)},
                                 {Type::i64, {count}})}};
    }};

}  // namespace

void register_choice(Registry& registry) {
  registry.add(kPermutation);
  registry.add(kPermutationKernel);
  registry.add(kCategorical);
  registry.add(kCategoricalKernel);
  registry.add(kDistinct);
  registry.add(kDistinctKernel);
}

}  // namespace muster::engine::random
