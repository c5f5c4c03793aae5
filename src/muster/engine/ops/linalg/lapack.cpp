#include "muster/engine/ops/linalg/lapack.h"

#include <algorithm>
#include <cblas.h>
#include <complex>
#include <vector>
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapack.h>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"
#include "muster/engine/ops/linalg/matrix.h"

namespace muster::engine {

namespace {

using C64 = std::complex<float>;
using C128 = std::complex<double>;

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
template <class T>
using Real = typename RealOf<T>::Type;
template <class T>
constexpr bool kComplex = !std::is_same_v<T, Real<T>>;

template <class F>
decltype(auto) with_inexact(Type type, F&& f) {
  switch (type) {
    case Type::f32: return f(float{});
    case Type::c64: return f(C64{});
    case Type::c128: return f(C128{});
    default: break;
  }
  MUSTER_ASSERT(type == Type::f64, "factorizations are computed in a type that LAPACK has");
  return f(double{});
}

int narrow(Index extent) {
  if (extent > INT32_MAX)
    wrong_value(fmt::format("[linalg] a matrix with {} rows or columns is too large", extent));
  return static_cast<int>(extent);
}

/// Rows of a matrix in Fortran order; LAPACK refuses zero.
int leading(const Array& array) { return std::max(1, narrow(array.shape()[0])); }

#define MUSTER_LAPACK(function, s, d, c, z)       \
  template <class T, class... Args>               \
  void function(Args... args) {                   \
    if constexpr (std::is_same_v<T, float>)       \
      LAPACK_##s(args...);                        \
    else if constexpr (std::is_same_v<T, double>) \
      LAPACK_##d(args...);                        \
    else if constexpr (std::is_same_v<T, C64>)    \
      LAPACK_##c(args...);                        \
    else                                          \
      LAPACK_##z(args...);                        \
  }
MUSTER_LAPACK(potrf, spotrf, dpotrf, cpotrf, zpotrf)
MUSTER_LAPACK(getrf, sgetrf, dgetrf, cgetrf, zgetrf)
MUSTER_LAPACK(geqrt, sgeqrt, dgeqrt, cgeqrt, zgeqrt)
MUSTER_LAPACK(ormqr, sormqr, dormqr, cunmqr, zunmqr)
MUSTER_LAPACK(gesdd, sgesdd, dgesdd, cgesdd, zgesdd)
MUSTER_LAPACK(heevd, ssyevd, dsyevd, cheevd, zheevd)
#undef MUSTER_LAPACK

[[noreturn]] void not_converged(const char* what) {
  throw ArrayError(Wrong::linalg, fmt::format("[{}] did not converge", what));
}

template <class T>
std::size_t size_said(T work) {
  return static_cast<std::size_t>(std::max(1.0, static_cast<double>(std::real(work))));
}

/// By geqrt, which halves the columns until one is left and multiplies matrices on its way; geqrf
/// goes through a matrix of fewer than 128 columns one by one, and the memory with each.
template <class T>
Reflectors qr_of(const Array& a, Memory& memory) {
  constexpr int kColumns = 64;
  Reflectors out{fortran_copy(a, memory), {}};
  const int m = narrow(a.shape()[0]);
  const int n = narrow(a.shape()[1]);
  const int k = std::min(m, n);
  const int step = leading(a);
  out.scales = Array(memory, a.dtype(), {k});
  if (k == 0) return out;
  const int block = std::min(k, kColumns);
  // Triangles side by side, whose diagonals are the scales.
  std::vector<T> triangles(static_cast<std::size_t>(block) * static_cast<std::size_t>(k));
  std::vector<T> work(static_cast<std::size_t>(block) * static_cast<std::size_t>(n));
  int info = 0;
  geqrt<T>(&m, &n, &block, out.factors.mutable_as<T>(), &step, triangles.data(), &block,
           work.data(), &info);
  MUSTER_ASSERT(info == 0, "geqrt gets arguments that it takes");
  T* const scales = out.scales.mutable_as<T>();
  for (int i = 0; i < k; ++i)
    scales[i] = triangles[static_cast<std::size_t>(i) * static_cast<std::size_t>(block) +
                          static_cast<std::size_t>(i % block)];
  return out;
}

/// Takes R out of the first rows of the factors and leaves there what the reflectors have: zeros
/// above a diagonal of ones.
template <class T>
Array taken_r(Array& factors, Memory& memory) {
  const Index m = factors.shape()[0];
  const Index n = factors.shape()[1];
  Array r(memory, factors.dtype(), {n, n});
  T* const to = r.mutable_as<T>();
  T* const from = factors.mutable_as<T>();
  for (Index row = 0; row < n; ++row)
    for (Index column = 0; column < n; ++column) {
      T& item = from[row + column * m];
      to[row * n + column] = column >= row ? item : T{};
      if (column >= row) item = column == row ? T{1} : T{};
    }
  return r;
}

/// With the reflectors V and the triangle T of all columns together, Q = I - V · T · Vᴴ, so its
/// first columns are those of I - V · (T · V₁ᴴ): one product of matrices.
template <class T>
ThinFactors thin_qr_of(Array& a, Memory& memory) {
  const int m = narrow(a.shape()[0]);
  const int n = narrow(a.shape()[1]);
  const auto square = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<T> triangle(square);
  std::vector<T> work(square);
  int info = 0;
  T* const v = a.mutable_as<T>();
  geqrt<T>(&m, &n, &n, v, &m, triangle.data(), &n, work.data(), &info);
  MUSTER_ASSERT(info == 0, "geqrt gets arguments that it takes");
  ThinFactors out{Array(memory, a.dtype(), a.shape()), taken_r<T>(a, memory)};

  Array inner(memory, a.dtype(), {n, n});
  for (Index row = 0; row < n; ++row)
    for (Index column = 0; column < n; ++column) {
      T sum{};
      for (Index i = row; i <= column; ++i) {
        const T factor = v[column + i * m];
        if constexpr (kComplex<T>)
          sum += triangle[static_cast<std::size_t>(row + i * n)] * std::conj(factor);
        else
          sum += triangle[static_cast<std::size_t>(row + i * n)] * factor;
      }
      inner.mutable_as<T>()[row * n + column] = sum;
    }
  T* const q = out.q.mutable_as<T>();
  std::fill_n(q, out.q.size(), T{});
  for (Index i = 0; i < n; ++i) q[i * (n + 1)] = T{1};
  add_product(a.dtype().type, matrix_of(a), matrix_of(inner), out.q.mutable_data(), n, Sign::minus,
              memory);
  return out;
}

template <class T>
void apply_q(const Array& shared, const Array& scales, Apply what, Array& to, Memory& memory) {
  // ormqr puts ones on the diagonal of the factors for a while, though it calls them an input;
  // other threads read them.
  Array factors = fortran_copy(shared, memory);
  const int m = narrow(to.shape()[0]);
  const int n = narrow(to.shape()[1]);
  const int k = narrow(scales.shape()[0]);
  if (m == 0 || n == 0 || k == 0) return;
  const int factors_step = leading(factors);
  const int step =
      narrow(std::max<Index>(m, n > 1 ? to.strides()[1] / static_cast<Index>(sizeof(T)) : m));
  const char side = 'L';
  const char form = what == Apply::q ? 'N' : (kComplex<T> ? 'C' : 'T');
  int info = 0;
  int asked = -1;
  T best{};
  T* const items = factors.mutable_as<T>();
  T* const out = to.mutable_as<T>();
  ormqr<T>(&side, &form, &m, &n, &k, items, &factors_step, scales.as<T>(), out, &step, &best,
           &asked, &info);
  std::vector<T> work(size_said(best));
  asked = narrow(static_cast<Index>(work.size()));
  ormqr<T>(&side, &form, &m, &n, &k, items, &factors_step, scales.as<T>(), out, &step, work.data(),
           &asked, &info);
  MUSTER_ASSERT(info == 0, "ormqr gets arguments that it takes");
}

template <class T>
SvdFactors svd_of(const Array& a, bool vectors, bool full, Memory& memory) {
  Array copy = fortran_copy(a, memory);
  const int m = narrow(a.shape()[0]);
  const int n = narrow(a.shape()[1]);
  const int k = std::min(m, n);
  const DType real(real_type(a.dtype().type));
  SvdFactors out{Array(memory, a.dtype(), {m, vectors ? (full ? m : k) : 0}, Order::fortran),
                 Array(memory, real, {k}),
                 Array(memory, a.dtype(), {vectors ? (full ? n : k) : 0, n}, Order::fortran)};
  if (k == 0) {
    // Nothing to factor; square factors are identities.
    for (Array* array : {&out.u, &out.vh}) {
      std::fill_n(array->mutable_as<T>(), array->size(), T{});
      for (Index i = 0; i < std::min(array->shape()[0], array->shape()[1]); ++i)
        array->mutable_as<T>()[i * (array->shape()[0] + 1)] = T{1};
    }
    return out;
  }
  const char job = !vectors ? 'N' : full ? 'A' : 'S';
  const int step = leading(a);
  const int u_step = std::max(1, m);
  const int vh_step = std::max(1, narrow(out.vh.shape()[0]));
  int info = 0;
  int asked = -1;
  T best{};
  std::vector<int> integers(static_cast<std::size_t>(8) * static_cast<std::size_t>(k));
  const auto least = static_cast<std::size_t>(k);
  const auto most = static_cast<std::size_t>(std::max(m, n));
  std::vector<Real<T>> reals(
      kComplex<T> ? std::max(least * (5 * least + 7), 2 * most * least + 2 * least * least + least)
                  : 0);
  const auto call = [&](T* work) {
    if constexpr (kComplex<T>)
      gesdd<T>(&job, &m, &n, copy.mutable_as<T>(), &step, out.s.mutable_as<Real<T>>(),
               out.u.mutable_as<T>(), &u_step, out.vh.mutable_as<T>(), &vh_step, work, &asked,
               reals.data(), integers.data(), &info);
    else
      gesdd<T>(&job, &m, &n, copy.mutable_as<T>(), &step, out.s.mutable_as<T>(),
               out.u.mutable_as<T>(), &u_step, out.vh.mutable_as<T>(), &vh_step, work, &asked,
               integers.data(), &info);
  };
  call(&best);
  std::vector<T> work(size_said(best));
  asked = narrow(static_cast<Index>(work.size()));
  call(work.data());
  if (info != 0) not_converged("svd");
  return out;
}

template <class T>
EigenFactors eigh_of(const Array& a, bool lower, Memory& memory) {
  EigenFactors out{Array(memory, DType(real_type(a.dtype().type)), {a.shape()[0]}),
                   fortran_copy(a, memory)};
  const int n = narrow(a.shape()[0]);
  if (n == 0) return out;
  const char job = 'V';
  const char part = lower ? 'L' : 'U';
  int info = 0;
  int asked = -1;
  int asked_reals = -1;
  int asked_integers = -1;
  T best{};
  Real<T> best_reals{};
  int best_integers = 0;
  const auto call = [&](T* work, Real<T>* reals, int* integers) {
    if constexpr (kComplex<T>) {
      heevd<T>(&job, &part, &n, out.vectors.mutable_as<T>(), &n, out.values.mutable_as<Real<T>>(),
               work, &asked, reals, &asked_reals, integers, &asked_integers, &info);
    } else {
      (void)reals;
      heevd<T>(&job, &part, &n, out.vectors.mutable_as<T>(), &n, out.values.mutable_as<T>(), work,
               &asked, integers, &asked_integers, &info);
    }
  };
  call(&best, &best_reals, &best_integers);
  std::vector<T> work(size_said(best));
  std::vector<Real<T>> reals(size_said(best_reals));
  std::vector<int> integers(static_cast<std::size_t>(std::max(1, best_integers)));
  asked = narrow(static_cast<Index>(work.size()));
  asked_reals = narrow(static_cast<Index>(reals.size()));
  asked_integers = narrow(static_cast<Index>(integers.size()));
  call(work.data(), reals.data(), integers.data());
  if (info != 0) not_converged("eigh");
  return out;
}

void trsm(CBLAS_SIDE side, CBLAS_UPLO part, CBLAS_TRANSPOSE form, CBLAS_DIAG diagonal,
          const Array& triangle, Array& to) {
  const int m = narrow(to.shape()[0]);
  const int n = narrow(to.shape()[1]);
  if (m == 0 || n == 0) return;
  const int step = narrow(triangle.shape()[1]);
  with_inexact(to.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    const T one = 1;
    const T* const items = triangle.as<T>();
    T* const out = to.mutable_as<T>();
    if constexpr (std::is_same_v<T, float>)
      cblas_strsm(CblasRowMajor, side, part, form, diagonal, m, n, one, items, step, out, n);
    else if constexpr (std::is_same_v<T, double>)
      cblas_dtrsm(CblasRowMajor, side, part, form, diagonal, m, n, one, items, step, out, n);
    else if constexpr (std::is_same_v<T, C64>)
      cblas_ctrsm(CblasRowMajor, side, part, form, diagonal, m, n, &one, items, step, out, n);
    else
      cblas_ztrsm(CblasRowMajor, side, part, form, diagonal, m, n, &one, items, step, out, n);
  });
}

}  // namespace

Array fortran_copy(const Array& array, Memory& memory) {
  Array out(memory, array.dtype(), array.shape(), Order::fortran);
  copy_items(array, out);
  return out;
}

Array lapack_cholesky(const Array& a, Memory& memory) {
  Array out = fortran_copy(a, memory);
  const int n = narrow(a.shape()[0]);
  const int step = leading(a);
  if (n == 0) return out;
  const char part = 'L';
  int info = 0;
  with_inexact(a.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    T* const items = out.mutable_as<T>();
    potrf<T>(&part, &n, items, &step, &info);
    for (Index column = 1; column < n; ++column) std::fill_n(items + column * n, column, T{});
  });
  if (info != 0) throw ArrayError(Wrong::linalg, "[cholesky] the matrix is not positive definite");
  return out;
}

LuFactors lapack_lu(const Array& a, Memory& memory) {
  LuFactors out{fortran_copy(a, memory), {}};
  const int m = narrow(a.shape()[0]);
  const int n = narrow(a.shape()[1]);
  const int step = leading(a);
  out.swaps = Array(memory, Type::i32, {std::min(m, n)});
  if (std::min(m, n) == 0) return out;
  int* const swaps = out.swaps.mutable_as<int>();
  int info = 0;
  with_inexact(a.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    getrf<T>(&m, &n, out.factors.mutable_as<T>(), &step, swaps, &info);
  });
  for (int i = 0; i < std::min(m, n); ++i) --swaps[i];
  return out;
}

Reflectors lapack_qr(const Array& a, Memory& memory) {
  return with_inexact(a.dtype().type, [&](auto zero) { return qr_of<decltype(zero)>(a, memory); });
}

void lapack_apply_q(const Array& factors, const Array& scales, Apply what, Array& to,
                    Memory& memory) {
  with_inexact(to.dtype().type,
               [&](auto zero) { apply_q<decltype(zero)>(factors, scales, what, to, memory); });
}

ThinFactors lapack_thin_qr(Array a, Memory& memory) {
  MUSTER_ASSERT(a.shape()[1] > 0 && a.shape()[1] <= std::min(a.shape()[0], kThinColumns),
                "callers factor other matrices in another way");
  return with_inexact(a.dtype().type,
                      [&](auto zero) { return thin_qr_of<decltype(zero)>(a, memory); });
}

SvdFactors lapack_svd(const Array& a, bool vectors, bool full, Memory& memory) {
  return with_inexact(a.dtype().type,
                      [&](auto zero) { return svd_of<decltype(zero)>(a, vectors, full, memory); });
}

EigenFactors lapack_eigh(const Array& a, bool lower, Memory& memory) {
  return with_inexact(a.dtype().type,
                      [&](auto zero) { return eigh_of<decltype(zero)>(a, lower, memory); });
}

void solve_left(const Array& triangle, Triangle which, Diagonal diagonal, Array& to,
                Memory& memory) {
  trsm(CblasLeft, which == Triangle::lower ? CblasLower : CblasUpper, CblasNoTrans,
       diagonal == Diagonal::unit ? CblasUnit : CblasNonUnit, triangle.contiguous(memory), to);
}

void solve_right_adjoint(const Array& triangle, Triangle which, Array& to, Memory& memory) {
  trsm(CblasRight, which == Triangle::lower ? CblasLower : CblasUpper, CblasConjTrans, CblasNonUnit,
       triangle.contiguous(memory), to);
}

}  // namespace muster::engine
