#pragma once

#include "muster/engine/value/array.h"

namespace muster::engine {

/// A matrix in memory: steps are in bytes, and may be zero or negative.
struct Matrix {
  const std::byte* data = nullptr;
  Index rows = 0;
  Index columns = 0;
  Index row_step = 0;
  Index column_step = 0;

  [[nodiscard]] Matrix transposed() const { return {data, columns, rows, column_step, row_step}; }
};

/// An array with two axes seen as a matrix; it must outlive the view.
[[nodiscard]] Matrix matrix_of(const Array& array);

/// `to` += `a` · `b`, or -=. `to` has rows without gaps, `to_step` items apart. Integers wrap
/// around, booleans are or-ed. Not for f16 and times.
enum class Sign : bool { plus, minus };
void add_product(Type type, const Matrix& a, const Matrix& b, std::byte* to, Index to_step,
                 Sign sign, Memory& memory);

/// Upper triangle of `to` += that of `a` · `a`ᵀ, without conjugation: half the work of a product.
/// What is below the diagonal is anything then, until it is mirrored. Types as for products.
void add_square(Type type, const Matrix& a, std::byte* to, Index to_step, Memory& memory);
void mirror_upper(Type type, std::byte* items, Index extent);

/// Item by item `to` += `from`; both without gaps.
void add_items(Type type, const std::byte* from, std::byte* to, Index count);

/// In C order, without gaps, and ours to change: always a copy.
[[nodiscard]] Array copied(const Array& array, Memory& memory);

/// The last two axes swapped, and every item conjugated if it is complex.
[[nodiscard]] Array adjoint(const Array& array, Memory& memory);

}  // namespace muster::engine
