#pragma once

#include <string>

#include "muster/engine/value/array.h"

namespace muster::engine {

// Factorizations of one matrix with items of f32, f64, c64 or c128. Inputs have any strides and
// stay as they are; results are fresh, in Fortran order unless said otherwise. They throw
// ArrayError (linalg) where the matrix has no such factors.

/// L with A = L · Lᴴ; reads the lower triangle only.
[[nodiscard]] Array lapack_cholesky(const Array& a, Memory& memory);

/// Unit lower and upper triangle in one array, and for each row the row that it was swapped with
/// (i32, from 0), one after the other.
struct LuFactors {
  Array factors;
  Array swaps;
};
[[nodiscard]] LuFactors lapack_lu(const Array& a, Memory& memory);

/// The reflectors below the diagonal with R above it, and their factors.
struct Reflectors {
  Array factors;
  Array scales;
};
[[nodiscard]] Reflectors lapack_qr(const Array& a, Memory& memory);
/// `to` (Fortran order) becomes Q · to, or Qᴴ · to; Q is given by its reflectors.
enum class Apply : bool { q, adjoint };
void lapack_apply_q(const Array& factors, const Array& scales, Apply what, Array& to,
                    Memory& memory);

/// The first columns of Q, as many as A has, and R, both in C order. `a` is in Fortran order and is
/// used up; it has at least as many rows as columns, and of these one to `kThinColumns`.
struct ThinFactors {
  Array q;
  Array r;
};
inline constexpr Index kThinColumns = 128;
[[nodiscard]] ThinFactors lapack_thin_qr(Array a, Memory& memory);

/// A = U · diag(s) · Vh. `full`: square U and Vh. Without `vectors` only s is there.
struct SvdFactors {
  Array u;
  Array s;
  Array vh;
};
[[nodiscard]] SvdFactors lapack_svd(const Array& a, bool vectors, bool full, Memory& memory);

/// Eigenvalues, ascending, and vectors of a Hermitian matrix; reads one triangle only.
struct EigenFactors {
  Array values;
  Array vectors;
};
[[nodiscard]] EigenFactors lapack_eigh(const Array& a, bool lower, Memory& memory);

/// `to` (C order without gaps) becomes T⁻¹ · to, or with `right` to · T⁻ᴴ.
enum class Triangle : bool { lower, upper };
enum class Diagonal : bool { stored, unit };
void solve_left(const Array& triangle, Triangle which, Diagonal diagonal, Array& to,
                Memory& memory);
void solve_right_adjoint(const Array& triangle, Triangle which, Array& to, Memory& memory);

/// A fresh copy in Fortran order.
[[nodiscard]] Array fortran_copy(const Array& array, Memory& memory);

}  // namespace muster::engine
