#include "muster/engine/ops/creation/full.h"

#include <cstring>
#include <utility>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/creation/create.h"

namespace muster::engine {

namespace {

/// The whole chunk is one item seen with steps of zero: it costs no memory, and whoever reads it
/// knows that it is constant.
Array repeated(KernelContext& context, const Shape& shape) {
  const auto value = context.attributes().get<Scalar>("value");
  Array one = context.make(value.dtype(), {});
  std::memcpy(one.mutable_data(), value.data(), one.item_size());
  return one.broadcast_to(shape);
}

constexpr KernelRow kFullKernel{
    "full", [](KernelContext& context) {
      context.set(repeated(context, context.attributes().get<Ints>("shape")));
    }};
constexpr KernelRow kLikeKernel{"full_like", [](KernelContext& context) {
                                  context.set(repeated(context, context.input(0).shape()));
                                }};

constexpr OperatorRow kFull{
    .name = "full",
    .summary = "one value everywhere",
    .family = Family::creation,
    .infer = [](const Call& call) -> std::vector<Meta> {
      const Shape shape = asked_shape(call);
      return {{call.attributes.get<Scalar>("value").dtype(), shape}};
    },
    .tile = [](TileContext& context) -> TileResult { return create(context, kFullKernel); }};

TileResult tile_like(TileContext& context) {
  Tiled out{context.input(0).splits, {}};
  const auto value = context.attributes().get<Scalar>("value");
  for (const ChunkRef chunk : context.input(0).chunks) {
    const Shape shape = context.meta(chunk).shape;
    const Meta meta{value.dtype(), shape};
    // Only chunks whose sizes nobody knows have to be computed first.
    out.chunks.push_back(
        is_known(shape)
            ? context.emit(kFullKernel, {{"value", value}, {"shape", Ints(shape)}}, {}, meta)
            : context.emit(kLikeKernel, {{"value", value}}, {chunk}, meta));
  }
  return out;
}

constexpr OperatorRow kLike{
    .name = "full_like",
    .summary = "one value everywhere, in the shape of another tensor",
    .family = Family::creation,
    .infer = [](const Call& call) -> std::vector<Meta> {
      return {{call.attributes.get<Scalar>("value").dtype(), call.inputs.front().shape()}};
    },
    .tile = tile_like};

}  // namespace

const KernelRow& full_kernel() { return kFullKernel; }

void register_full(Registry& registry) {
  registry.add(kFull);
  registry.add(kFullKernel);
  registry.add(kLike);
  registry.add(kLikeKernel);
}

Tensor full(Shape shape, const Scalar& value, Attribute::Value chunk_size) {
  return apply_one(
      kFull, {},
      {{"shape", Ints(std::move(shape))}, {"value", value}, {"chunk_size", std::move(chunk_size)}});
}

Tensor zeros(Shape shape, DType dtype, Attribute::Value chunk_size) {
  return full(std::move(shape), Scalar(false).cast(dtype), std::move(chunk_size));
}

Tensor ones(Shape shape, DType dtype, Attribute::Value chunk_size) {
  return full(std::move(shape), Scalar(true).cast(dtype), std::move(chunk_size));
}

Tensor full_like(const Tensor& like, const Scalar& value) {
  return apply_one(kLike, {like}, {{"value", value}});
}

}  // namespace muster::engine
