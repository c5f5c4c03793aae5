#include "muster/engine/ops/sorting/topk.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/sorting/keys.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

namespace {

/// The axes with `axis` last.
std::vector<int> axis_to_end(std::size_t ndim, std::size_t axis) {
  std::vector<int> axes;
  for (std::size_t i = 0; i < ndim; ++i)
    if (i != axis) axes.push_back(static_cast<int>(i));
  axes.push_back(static_cast<int>(axis));
  return axes;
}

std::vector<int> axis_back(std::size_t ndim, std::size_t axis) {
  std::vector<int> axes(ndim);
  for (std::size_t i = 0; i < ndim; ++i)
    axes[i] = static_cast<int>(i < axis ? i : i == axis ? ndim - 1 : i - 1);
  return axes;
}

/// Adds the lanes of a chunk to those of `lanes`: keys with their places.
void add_lanes(const Array& items, const Array& places, Index first,
               std::vector<std::vector<Pair>>& lanes, Memory& memory) {
  const Array keys = encoded(items, true, memory);
  const Array numbers = places ? places.contiguous(memory) : Array();
  const Index length = keys.shape().back();
  with_key(keys.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_unsigned_v<T>) {
      for (std::size_t lane = 0; lane < lanes.size(); ++lane)
        for (Index i = 0; i < length; ++i) {
          const Index at = static_cast<Index>(lane) * length + i;
          const Index place = numbers ? numbers.as<std::int64_t>()[at] : first + i;
          lanes[lane].push_back({static_cast<std::uint64_t>(place), keys.as<T>()[at]});
        }
    }
  });
}

void keep_extremes(std::vector<Pair>& lane, std::size_t k, bool largest) {
  const auto before = [largest](const Pair& a, const Pair& b) {
    if (a.key != b.key) return largest ? a.key > b.key : a.key < b.key;
    return a.place < b.place;
  };
  k = std::min(k, lane.size());
  const auto end = lane.begin() + static_cast<std::ptrdiff_t>(k);
  if (k < lane.size()) std::nth_element(lane.begin(), end, lane.end(), before);
  std::sort(lane.begin(), end, before);
  lane.resize(k);
}

/// Inputs: one chunk whose places begin at `first`, or items and places of several by turns.
void run_topk(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  Memory& memory = context.memory();
  const auto axis = static_cast<std::size_t>(attributes.get<std::int64_t>("axis"));
  const auto k = attributes.get<std::int64_t>("k");
  const bool joins = attributes.get<bool>("joins");
  const DType dtype = context.input(0).dtype();
  const std::vector<int> axes = axis_to_end(context.input(0).ndim(), axis);
  Shape shape = context.input(0).transposed(axes).shape();
  std::vector<std::vector<Pair>> lanes(
      static_cast<std::size_t>(volume(Shape(shape.begin(), shape.end() - 1))));
  for (std::size_t i = 0; i < context.inputs().size(); i += joins ? 2 : 1)
    add_lanes(context.input(i).transposed(axes),
              joins ? context.input(i + 1).transposed(axes) : Array(),
              attributes.get<std::int64_t>("first", 0), lanes, memory);
  shape.back() = 0;
  for (auto& lane : lanes) {
    keep_extremes(lane, static_cast<std::size_t>(k), attributes.get<bool>("largest"));
    shape.back() = static_cast<Index>(lane.size());
  }
  if (lanes.empty()) shape.back() = k;
  Array keys(memory, key_type(dtype.type), shape);
  Array places(memory, Type::i64, shape);
  with_key(keys.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_unsigned_v<T>) {
      Index at = 0;
      for (const auto& lane : lanes)
        for (const Pair& pair : lane) {
          keys.mutable_as<T>()[at] = static_cast<T>(pair.key);
          places.mutable_as<std::int64_t>()[at++] = static_cast<std::int64_t>(pair.place);
        }
    }
  });
  const std::vector<int> back = axis_back(shape.size(), axis);
  context.set(0, decoded(std::move(keys), dtype, memory).transposed(back));
  context.set(1, places.transposed(back));
}
constexpr KernelRow kTopkKernel{"topk", run_topk};

std::vector<Meta> infer_topk(const Call& call) {
  Meta out = call.inputs[0].meta();
  if (is_complex(out.dtype.type))
    wrong_type(fmt::format("{}is not defined for {}", call.prefix(), name(out.dtype)));
  const auto axis = static_cast<std::size_t>(normal_axis(
      call.attributes.get<std::int64_t>("axis", -1), out.shape.size(), std::string(call.row.name)));
  const auto k = call.attributes.get<std::int64_t>("k");
  if (k < 0) wrong_value(fmt::format("{}k must not be negative: {}", call.prefix(), k));
  if (out.shape[axis] != kUnknown) out.shape[axis] = std::min<Index>(k, out.shape[axis]);
  if (call.row.name == "argtopk") out.dtype = Type::i64;
  return {out};
}

TileResult tile_topk(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const Tiled& input = context.input(0);
  const DType dtype = context.input_meta(0).dtype;
  const auto axis =
      static_cast<std::size_t>(normal_axis(context.attributes().get<std::int64_t>("axis", -1),
                                           input.splits.size(), std::string(context.row().name)));
  const auto k = context.attributes().get<std::int64_t>("k");
  const std::uint32_t wanted = context.row().name == "argtopk" ? 1 : 0;
  const Attributes attributes = {{"axis", static_cast<std::int64_t>(axis)},
                                 {"k", k},
                                 {"largest", context.attributes().get<bool>("largest", true)},
                                 {"joins", false}};
  const Index extent = context.input_meta(0).shape[axis];
  const Index found = std::min<Index>(k, extent);
  Tiled out{input.splits, {}};
  out.splits[axis] = {found};
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    std::vector<ChunkRef> parts;
    Index first = 0;
    Shape shape = extents_at(out.splits, position);
    for (std::size_t i = 0; i < input.splits[axis].size(); ++i) {
      Shape from = position;
      from[axis] = static_cast<Index>(i);
      shape[axis] = std::min<Index>(k, input.splits[axis][i]);
      const std::uint32_t task =
          context.emit_many(kTopkKernel, attributes.with("first", first), {input.at(from)},
                            {{dtype, shape}, {Type::i64, shape}});
      parts.push_back({task, 0});
      parts.push_back({task, 1});
      first += input.splits[axis][i];
    }
    if (parts.size() > 2) {
      shape[axis] = found;
      const std::uint32_t task = context.emit_many(kTopkKernel, attributes.with("joins", true),
                                                   parts, {{dtype, shape}, {Type::i64, shape}});
      parts = {{task, 0}, {task, 1}};
    }
    out.chunks.push_back(parts[wanted]);
  });
  return out;
}

constexpr OperatorRow kTopk{.name = "topk",
                            .summary = "the largest or smallest items along an axis",
                            .family = Family::sorting,
                            .infer = infer_topk,
                            .tile = tile_topk};
constexpr OperatorRow kArgtopk{.name = "argtopk",
                               .summary = "the places of the largest or smallest items",
                               .family = Family::sorting,
                               .infer = infer_topk,
                               .tile = tile_topk};

Tensor call(const OperatorRow& row, const Tensor& x, Index k, Index axis, bool largest) {
  return apply_one(row, {x}, {{"k", k}, {"axis", axis}, {"largest", largest}});
}

}  // namespace

Tensor topk(const Tensor& x, Index k, Index axis, bool largest) {
  return call(kTopk, x, k, axis, largest);
}
Tensor argtopk(const Tensor& x, Index k, Index axis, bool largest) {
  return call(kArgtopk, x, k, axis, largest);
}

void register_topk(Registry& registry) {
  registry.add(kTopk);
  registry.add(kArgtopk);
  registry.add(kTopkKernel);
}

}  // namespace muster::engine
