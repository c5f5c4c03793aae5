#include "muster/engine/ops/indexing/mask.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/indexing/copy_rows.h"
#include "muster/engine/ops/shape/reshape.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// Packs the chosen items of a vector without a branch per item.
template <class T>
void pack(const Array& in, const bool* mask, std::byte* to) {
  const T* const items = in.as<T>();
  T* out = reinterpret_cast<T*>(to);
  const Index count = in.size();
  for (Index i = 0; i < count; ++i) {
    *out = items[i];
    out += mask[i] ? 1 : 0;
  }
}

void run_compress(KernelContext& context) {
  const Array& in = context.input(0);
  const auto axis = static_cast<std::size_t>(context.attributes().get<std::int64_t>("axis"));
  const Array mask = context.input(1).contiguous(context.memory());
  const bool* const chosen = mask.as<bool>();
  const Index count = std::count(chosen, chosen + mask.size(), true);
  Shape shape = in.shape();
  shape[axis] = count;
  if (in.ndim() == 1 && in.is_c_contiguous() && in.item_size() <= 8) {
    // One more: the last item is written even if it is not chosen.
    const Array room = context.make(in.dtype(), {count + 1});
    Array out = room.view({count}, room.strides());
    switch (in.item_size()) {
      case 1: pack<std::uint8_t>(in, chosen, out.mutable_data()); break;
      case 2: pack<std::uint16_t>(in, chosen, out.mutable_data()); break;
      case 4: pack<std::uint32_t>(in, chosen, out.mutable_data()); break;
      default: pack<std::uint64_t>(in, chosen, out.mutable_data()); break;
    }
    return context.set(std::move(out));
  }
  Array out = context.make(in.dtype(), shape);
  std::vector<RowMove> moves;
  for (Index i = 0; i < mask.size(); ++i)
    if (chosen[i])
      moves.push_back(
          {in.data() + i * in.strides()[axis],
           out.mutable_data() + static_cast<Index>(moves.size()) * out.strides()[axis]});
  const auto without = [&](std::vector<Index> all) {
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(axis));
    return all;
  };
  copy_rows(moves, without(shape), without(in.strides()), without(out.strides()), in.item_size());
  context.set(std::move(out));
}
constexpr KernelRow kCompressKernel{"compress", run_compress};

void check_mask(const Shape& shape, std::size_t axis, Index mask) {
  if (mask != shape[axis] && mask != kUnknown && shape[axis] != kUnknown)
    wrong_index(fmt::format("[getitem] a mask of size {} does not fit axis {} with size {}", mask,
                            axis, shape[axis]));
}

std::vector<Meta> infer_compress(const Call& call) {
  Meta meta = call.inputs.front().meta();
  const Tensor& mask = call.inputs[1];
  const auto axis = static_cast<std::size_t>(
      normal_axis(call.attributes.get<std::int64_t>("axis"), meta.shape.size(), "compress"));
  if (mask.ndim() != 1 || mask.dtype() != DType(Type::b1))
    wrong_index(fmt::format("{}the mask must be bool and of one axis, not {} of shape {}",
                            call.prefix(), name(mask.dtype()), text(mask.shape())));
  check_mask(meta.shape, axis, mask.shape().front());
  meta.shape[axis] = kUnknown;
  return {meta};
}

TileResult tile_compress(TileContext& context) {
  const Tiled& x = context.input(0);
  const std::size_t ndim = x.splits.size();
  const auto axis = static_cast<std::size_t>(
      normal_axis(context.attributes().get<std::int64_t>("axis"), ndim, "compress"));
  if (!is_known(x.splits[axis])) return context.wait_for_sizes({0});
  if (!context.knows(1)) return context.wait_for_sizes({1});
  check_mask(shape_of(x.splits), axis, shape_of(context.input(1).splits).front());
  const Tiled mask = rechunk(context, context.input(1), Type::b1, {x.splits[axis]});
  Tiled out{x.splits, {}};
  out.splits[axis].assign(x.splits[axis].size(), kUnknown);
  const Attributes attributes = {{"axis", static_cast<std::int64_t>(axis)}};
  for_each_position(grid_of(x.splits), [&](const Shape& position) {
    out.chunks.push_back(
        context.emit(kCompressKernel, attributes,
                     {x.at(position), mask.chunks[static_cast<std::size_t>(position[axis])]},
                     {context.output().dtype, extents_at(out.splits, position)}));
  });
  return out;
}

constexpr OperatorRow kCompress{.name = "compress",
                                .summary = "the items of an axis where a mask is true",
                                .family = Family::indexing,
                                .infer = infer_compress,
                                .tile = tile_compress};

void run_nonzero(KernelContext& context) {
  const Array in = context.input(0).contiguous(context.memory());
  const Index first = context.attributes().get<std::int64_t>("first");
  with_type(in.dtype().type, [&](auto type) {
    using T = decltype(type);
    const T* const items = in.as<T>();
    const auto is_set = [](const T& item) {
      if constexpr (std::is_same_v<T, Float16>)
        return to_float(item) != 0.0f;
      else
        return item != T{};
    };
    const Index count = std::count_if(items, items + in.size(), is_set);
    const Array room = context.make(Type::i64, {count + 1});
    Array out = room.view({count}, room.strides());
    auto* to = out.mutable_as<std::int64_t>();
    for (Index i = 0; i < in.size(); ++i) {
      *to = first + i;
      to += is_set(items[i]) ? 1 : 0;
    }
    context.set(std::move(out));
  });
}
constexpr KernelRow kNonzeroKernel{"flatnonzero", run_nonzero};

constexpr OperatorRow kNonzeroOfVector{
    .name = "flatnonzero_of_vector",
    .summary = "the positions of items of a vector that are not zero",
    .family = Family::indexing,
    .infer = [](const Call& call) -> std::vector<Meta> {
      check_vector(call);
      return {{Type::i64, {kUnknown}}};
    },
    .tile = [](TileContext& context) -> TileResult {
      if (!context.knows(0)) return context.wait_for_sizes({0});
      const Tiled& x = context.input(0);
      Tiled out{{std::vector<Index>(x.chunks.size(), kUnknown)}, {}};
      Index first = 0;
      for (std::size_t number = 0; number < x.chunks.size(); ++number) {
        out.chunks.push_back(context.emit(kNonzeroKernel, {{"first", first}}, {x.chunks[number]},
                                          {Type::i64, {kUnknown}}));
        first += x.splits[0][number];
      }
      return out;
    }};

constexpr OperatorRow kFlatnonzero{
    .name = "flatnonzero",
    .summary = "the positions, in C order, of items that are not zero",
    .family = Family::indexing,
    .expand = [](const Call& call) -> std::vector<Tensor> {
      return {flatnonzero(call.inputs.front())};
    }};

void run_unravel(KernelContext& context) {
  const Array in = context.input(0).contiguous(context.memory());
  const Ints shape = context.attributes().get<Ints>("shape");
  const bool fortran = context.attributes().get<std::string>("order", "C") == "F";
  const Index items = volume(shape);
  std::vector<Array> outs;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    outs.push_back(context.make(Type::i64, in.shape()));
  for (Index i = 0; i < in.size(); ++i) {
    Index rest = in.as<std::int64_t>()[i];
    if (rest < 0 || rest >= items)
      wrong_value(fmt::format("[unravel_index] index {} is out of bounds for an array of size {}",
                              rest, items));
    for (std::size_t n = 0; n < shape.size(); ++n) {
      const std::size_t axis = fortran ? n : shape.size() - 1 - n;
      outs[axis].mutable_as<std::int64_t>()[i] = rest % shape[axis];
      rest /= shape[axis];
    }
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) context.set(axis, std::move(outs[axis]));
}
constexpr KernelRow kUnravelKernel{"unravel_index", run_unravel};

TileResult tile_unravel(TileContext& context) {
  const Tiled& in = context.input(0);
  std::vector<Tiled> outs(context.outputs(), Tiled{in.splits, {}});
  for (const ChunkRef chunk : in.chunks) {
    const std::vector<Meta> metas(outs.size(), Meta{Type::i64, context.meta(chunk).shape});
    const std::uint32_t task =
        context.emit_many(kUnravelKernel, context.attributes(), {chunk}, metas);
    for (std::uint32_t output = 0; output < outs.size(); ++output)
      outs[output].chunks.push_back({task, output});
  }
  return outs;
}

constexpr OperatorRow kUnravel{
    .name = "unravel_index",
    .summary = "flat positions as positions along each axis",
    .family = Family::indexing,
    .infer = [](const Call& call) -> std::vector<Meta> {
      const Tensor& x = call.inputs.front();
      if (x.dtype() != DType(Type::i64))
        wrong_type(call.prefix() + "indices must be int64, not " + name(x.dtype()));
      return std::vector<Meta>(call.attributes.ints("shape").size(), x.meta());
    },
    .tile = tile_unravel};

}  // namespace

void register_masks(Registry& registry) {
  registry.add(kCompress);
  registry.add(kCompressKernel);
  registry.add(kNonzeroOfVector);
  registry.add(kNonzeroKernel);
  registry.add(kFlatnonzero);
  registry.add(kUnravel);
  registry.add(kUnravelKernel);
}

Tensor compress(const Tensor& x, const Tensor& mask, Index axis) {
  return apply_one(kCompress, {x, mask}, {{"axis", axis}});
}

Tensor flatnonzero(const Tensor& x) { return apply_one(kNonzeroOfVector, {reshape(x, {-1})}); }

}  // namespace muster::engine
