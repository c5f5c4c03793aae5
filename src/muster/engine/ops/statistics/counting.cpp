#include "muster/engine/ops/statistics/counting.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/statistics/joined_counts.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/tile_context.h"
#include "muster/engine/tile/unknown_inputs.h"

namespace muster::engine {

namespace {

void run_bincount(KernelContext& context) {
  const Array items = gapless(context.input(0), Type::i64, context.memory());
  const Index* const at = items.as<Index>();
  Index greatest = -1;
  Index least = 0;
  for (Index i = 0; i < items.size(); ++i) {
    greatest = std::max(greatest, at[i]);
    least = std::min(least, at[i]);
  }
  if (least < 0) wrong_value(fmt::format("[bincount] items must not be negative: {}", least));
  if (greatest == std::numeric_limits<Index>::max())
    wrong_value(fmt::format("[bincount] there cannot be a bin for {}", greatest));
  if (context.inputs().size() == 1) {
    Array out = context.make(Type::i64, {greatest + 1});
    auto* const counts = out.mutable_as<Index>();
    std::fill_n(counts, out.size(), 0);
    for (Index i = 0; i < items.size(); ++i) ++counts[at[i]];
    return context.set(std::move(out));
  }
  const Array weights = gapless(context.input(1), Type::f64, context.memory());
  Array out = context.make(Type::f64, {greatest + 1});
  auto* const sums = out.mutable_as<double>();
  std::fill_n(sums, out.size(), 0.0);
  for (Index i = 0; i < items.size(); ++i) sums[at[i]] += weights.as<double>()[i];
  context.set(std::move(out));
}
constexpr KernelRow kBincountKernel{"bincount", run_bincount};

std::vector<Meta> infer_bincount(const Call& call) {
  const Meta x = call.inputs.front().meta();
  if (x.shape.size() != 1)
    wrong_value(fmt::format("{}takes one axis, not the shape {}", call.prefix(), text(x.shape)));
  if (!can_cast(x.dtype, Type::i64))
    wrong_type(fmt::format("{}counts whole numbers, not {}", call.prefix(), name(x.dtype)));
  if (call.attributes.get<std::int64_t>("minlength", 0) < 0)
    wrong_value(fmt::format("{}minlength must not be negative: {}", call.prefix(),
                            call.attributes.get<std::int64_t>("minlength")));
  const bool weighted = call.inputs.size() > 1;
  if (weighted) {
    const Meta weights = call.inputs[1].meta();
    if (is_complex(weights.dtype.type) || is_time(weights.dtype.type))
      wrong_type(fmt::format("{}weights cannot be {}", call.prefix(), name(weights.dtype)));
    if (weights.shape.size() != 1 ||
        (is_known(x.shape) && is_known(weights.shape) && weights.shape != x.shape))
      wrong_value(fmt::format("{}the weights have the shape {}, the items {}", call.prefix(),
                              text(weights.shape), text(x.shape)));
  }
  return {{weighted ? Type::f64 : Type::i64, {kUnknown}}};
}

TileResult tile_bincount(TileContext& context) {
  const Tiled& x = context.input(0);
  Tiled weights;
  const bool weighted = context.inputs() > 1;
  if (weighted && !align_weights(context, 1, weights)) {
    return context.wait_for_sizes(unknown_inputs(context));
  }
  std::vector<ChunkRef> counts;
  const Meta meta = context.output();
  for (std::size_t i = 0; i < x.chunks.size(); ++i) {
    std::vector<ChunkRef> inputs = {x.chunks[i]};
    if (weighted) inputs.push_back(weights.chunks[i]);
    counts.push_back(context.emit(kBincountKernel, {}, std::move(inputs), meta));
  }
  const Index minlength = context.attributes().get<std::int64_t>("minlength", 0);
  return Tiled{{{kUnknown}}, {join_counts(context, std::move(counts), minlength)}};
}

constexpr OperatorRow kBincount{.name = "bincount",
                                .summary = "how often each whole number from 0 comes",
                                .family = Family::statistics,
                                .infer = infer_bincount,
                                .tile = tile_bincount};

/// NaN is greater than all.
template <class T>
bool before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
  return a < b;
}

template <class T>
void find_bins(const Array& items, const Array& edges, bool right, Array& out) {
  const T* const first = edges.as<T>();
  const T* const last = first + edges.size();
  const bool down = edges.size() > 1 && before(last[-1], *first);
  for (const T* at = first; at + 1 < last; ++at)
    if (down ? before(at[0], at[1]) : before(at[1], at[0]))
      wrong_value("[digitize] bins must go up or down all the way");
  const T* const from = items.as<T>();
  auto* const to = out.mutable_as<Index>();
  const auto down_before = [](T a, T b) { return before(b, a); };
  for (Index i = 0; i < items.size(); ++i) {
    const T item = from[i];
    const T* found = nullptr;
    if (down)
      found = right ? std::upper_bound(first, last, item, down_before)
                    : std::lower_bound(first, last, item, down_before);
    else
      found = right ? std::lower_bound(first, last, item, before<T>)
                    : std::upper_bound(first, last, item, before<T>);
    to[i] = found - first;
  }
}

void run_digitize(KernelContext& context) {
  const bool right = context.attributes().get<bool>("right", false);
  const Type type = context.attributes().get<DType>("compared").type;
  const Array items = gapless(context.input(0), type, context.memory());
  const Array edges = gapless(context.input(1), type, context.memory());
  Array out = context.make(Type::i64, items.shape());
  switch (type) {
    case Type::i64: find_bins<std::int64_t>(items, edges, right, out); break;
    case Type::u64: find_bins<std::uint64_t>(items, edges, right, out); break;
    default: find_bins<double>(items, edges, right, out); break;
  }
  context.set(std::move(out));
}
constexpr KernelRow kDigitizeKernel{"digitize", run_digitize};

std::vector<Meta> infer_digitize(const Call& call) {
  const Meta x = call.inputs[0].meta();
  const Meta edges = call.inputs[1].meta();
  for (const Meta& meta : {x, edges})
    if (is_complex(meta.dtype.type) || is_time(meta.dtype.type))
      wrong_type(fmt::format("{}is not defined for {}", call.prefix(), name(meta.dtype)));
  if (edges.shape.size() != 1)
    wrong_value(
        fmt::format("{}bins have one axis, not the shape {}", call.prefix(), text(edges.shape)));
  return {{Type::i64, x.shape}};
}

TileResult tile_digitize(TileContext& context) {
  if (!context.knows(1)) return context.wait_for_sizes({1});
  const Shape shape = shape_of(context.input(1).splits);
  const Tiled edges =
      rechunk(context, context.input(1), context.input_meta(1).dtype, {{shape.front()}});
  const Type both = promote(context.input_meta(0).dtype, context.input_meta(1).dtype)->type;
  const Type type = is_float(both) ? Type::f64 : both == Type::u64 ? Type::u64 : Type::i64;
  const Attributes attributes = {{"right", context.attributes().get<bool>("right", false)},
                                 {"compared", DType(type)}};
  Tiled out{context.input(0).splits, {}};
  for (const ChunkRef chunk : context.input(0).chunks) {
    const Shape extents = context.meta(chunk).shape;
    out.chunks.push_back(context.emit(kDigitizeKernel, attributes, {chunk, edges.chunks.front()},
                                      {Type::i64, extents}));
  }
  return out;
}

constexpr OperatorRow kDigitize{.name = "digitize",
                                .summary = "in which bin each item is",
                                .family = Family::statistics,
                                .infer = infer_digitize,
                                .tile = tile_digitize};

}  // namespace

void register_counting(Registry& registry) {
  registry.add(kBincount);
  registry.add(kBincountKernel);
  registry.add(kDigitize);
  registry.add(kDigitizeKernel);
}

Tensor bincount(const Tensor& x, Index minlength) {
  return apply_one(kBincount, {x}, {{"minlength", minlength}});
}

Tensor digitize(const Tensor& x, const Tensor& edges, bool right) {
  return apply_one(kDigitize, {x, edges}, {{"right", right}});
}

}  // namespace muster::engine
