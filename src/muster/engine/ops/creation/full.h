#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// A tensor of this shape with one value everywhere.
[[nodiscard]] Tensor full(Shape shape, const Scalar& value, Attribute::Value chunk_size = {});
[[nodiscard]] Tensor zeros(Shape shape, DType dtype = Type::f64, Attribute::Value chunk_size = {});
[[nodiscard]] Tensor ones(Shape shape, DType dtype = Type::f64, Attribute::Value chunk_size = {});
/// One value everywhere, in the shape and the chunks of `like`.
[[nodiscard]] Tensor full_like(const Tensor& like, const Scalar& value);

struct KernelRow;
/// A chunk of one value. Attributes: `value`, `shape`.
[[nodiscard]] const KernelRow& full_kernel();
void register_full(Registry& registry);

}  // namespace muster::engine
