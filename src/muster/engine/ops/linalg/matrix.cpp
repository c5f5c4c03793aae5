#include "muster/engine/ops/linalg/matrix.h"

#include <algorithm>
#include <cblas.h>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "muster/base/assert.h"
#include "muster/engine/kernels/ufunc.h"

namespace muster::engine {

namespace {

// BLAS counts with 32 bits; longer products go in pieces.
constexpr Index kMostPerCall = Index{1} << 30;

/// How BLAS is told to read a matrix.
struct Operand {
  const void* data;
  CBLAS_TRANSPOSE form;
  int step;
};

bool fits(Index step, Index extent, Index size) {
  return step % size == 0 && step >= extent * size && step / size <= kMostPerCall;
}

/// Reads the matrix where it is if its rows or columns have no gaps, else from a copy in `kept`.
template <class T>
Operand operand(const Matrix& matrix, Array& kept, Memory& memory) {
  constexpr auto kSize = static_cast<Index>(sizeof(T));
  const bool aligned = reinterpret_cast<std::uintptr_t>(matrix.data) % alignof(T) == 0;
  if (aligned && (matrix.column_step == kSize || matrix.columns == 1)) {
    const Index step = matrix.rows == 1 ? matrix.columns * kSize : matrix.row_step;
    if (fits(step, matrix.columns, kSize))
      return {matrix.data, CblasNoTrans, static_cast<int>(step / kSize)};
  }
  if (aligned && (matrix.row_step == kSize || matrix.rows == 1)) {
    const Index step = matrix.columns == 1 ? matrix.rows * kSize : matrix.column_step;
    if (fits(step, matrix.rows, kSize))
      return {matrix.data, CblasTrans, static_cast<int>(step / kSize)};
  }
  const Array view = Array::share(kTypeOf<T>, {matrix.rows, matrix.columns},
                                  {matrix.row_step, matrix.column_step}, matrix.data, nullptr);
  kept = copied(view, memory);
  return {kept.data(), CblasNoTrans, static_cast<int>(matrix.columns)};
}

void gemm(const Operand& a, const Operand& b, int m, int n, int k, float sign, float* to,
          int step) {
  cblas_sgemm(CblasRowMajor, a.form, b.form, m, n, k, sign, static_cast<const float*>(a.data),
              a.step, static_cast<const float*>(b.data), b.step, 1, to, step);
}
void gemm(const Operand& a, const Operand& b, int m, int n, int k, double sign, double* to,
          int step) {
  cblas_dgemm(CblasRowMajor, a.form, b.form, m, n, k, sign, static_cast<const double*>(a.data),
              a.step, static_cast<const double*>(b.data), b.step, 1, to, step);
}
void gemm(const Operand& a, const Operand& b, int m, int n, int k, std::complex<float> sign,
          std::complex<float>* to, int step) {
  const std::complex<float> one = 1;
  cblas_cgemm(CblasRowMajor, a.form, b.form, m, n, k, &sign, a.data, a.step, b.data, b.step, &one,
              to, step);
}
void gemm(const Operand& a, const Operand& b, int m, int n, int k, std::complex<double> sign,
          std::complex<double>* to, int step) {
  const std::complex<double> one = 1;
  cblas_zgemm(CblasRowMajor, a.form, b.form, m, n, k, &sign, a.data, a.step, b.data, b.step, &one,
              to, step);
}

void syrk(const Operand& a, int n, int k, float* to, int step) {
  cblas_ssyrk(CblasRowMajor, CblasUpper, a.form, n, k, 1, static_cast<const float*>(a.data), a.step,
              1, to, step);
}
void syrk(const Operand& a, int n, int k, double* to, int step) {
  cblas_dsyrk(CblasRowMajor, CblasUpper, a.form, n, k, 1, static_cast<const double*>(a.data),
              a.step, 1, to, step);
}
void syrk(const Operand& a, int n, int k, std::complex<float>* to, int step) {
  const std::complex<float> one = 1;
  cblas_csyrk(CblasRowMajor, CblasUpper, a.form, n, k, &one, a.data, a.step, &one, to, step);
}
void syrk(const Operand& a, int n, int k, std::complex<double>* to, int step) {
  const std::complex<double> one = 1;
  cblas_zsyrk(CblasRowMajor, CblasUpper, a.form, n, k, &one, a.data, a.step, &one, to, step);
}

/// a · x with the items of x without gaps.
void gemv(const Operand& a, int m, int k, float sign, const float* x, float* to, int step) {
  const bool flipped = a.form == CblasTrans;
  cblas_sgemv(CblasRowMajor, a.form, flipped ? k : m, flipped ? m : k, sign,
              static_cast<const float*>(a.data), a.step, x, 1, 1, to, step);
}
void gemv(const Operand& a, int m, int k, double sign, const double* x, double* to, int step) {
  const bool flipped = a.form == CblasTrans;
  cblas_dgemv(CblasRowMajor, a.form, flipped ? k : m, flipped ? m : k, sign,
              static_cast<const double*>(a.data), a.step, x, 1, 1, to, step);
}

template <class T>
const T& item(const Matrix& matrix, Index row, Index column) {
  return *reinterpret_cast<const T*>(matrix.data + row * matrix.row_step +
                                     column * matrix.column_step);
}

Matrix columns_of(const Matrix& matrix, Index begin, Index count) {
  return {matrix.data + begin * matrix.column_step, matrix.rows, count, matrix.row_step,
          matrix.column_step};
}

/// The product of a row and a column: their items without gaps are the usual case.
template <class T>
T dot(const Matrix& row, const Matrix& column) {
  const std::byte* a = row.data;
  const std::byte* b = column.data;
  T sums[8] = {};
  Index i = 0;
  if (row.column_step == static_cast<Index>(sizeof(T)) &&
      column.row_step == static_cast<Index>(sizeof(T))) {
    const T* const x = reinterpret_cast<const T*>(a);
    const T* const y = reinterpret_cast<const T*>(b);
    const auto count = static_cast<int>(row.columns);
    if constexpr (std::is_same_v<T, double>) return cblas_ddot(count, x, 1, y, 1);
    if constexpr (std::is_same_v<T, float>) return cblas_sdot(count, x, 1, y, 1);
    for (; i + 8 <= row.columns; i += 8)
      for (Index k = 0; k < 8; ++k) sums[k] += x[i + k] * y[i + k];
  }
  for (; i < row.columns; ++i) sums[0] += item<T>(row, 0, i) * item<T>(column, i, 0);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <class T>
void blas_product(const Matrix& a, const Matrix& b, T* to, Index to_step, T sign, Memory& memory) {
  if (a.rows == 1 && b.columns == 1 && reinterpret_cast<std::uintptr_t>(a.data) % alignof(T) == 0 &&
      reinterpret_cast<std::uintptr_t>(b.data) % alignof(T) == 0 &&
      a.column_step % static_cast<Index>(alignof(T)) == 0 &&
      b.row_step % static_cast<Index>(alignof(T)) == 0) {
    to[0] += sign * dot<T>(a, b);
    return;
  }
  Array kept_a;
  Array kept_b;
  const Operand left = operand<T>(a, kept_a, memory);
  const Operand right = operand<T>(b, kept_b, memory);
  const auto m = static_cast<int>(a.rows);
  const auto n = static_cast<int>(b.columns);
  const auto k = static_cast<int>(a.columns);
  if constexpr (std::is_floating_point_v<T>) {
    const auto plain = [](const Operand& vector, int length) {
      return vector.form == CblasTrans || vector.step == 1 || length == 1;
    };
    if (n == 1 && plain(right, k)) {
      gemv(left, m, k, sign, static_cast<const T*>(right.data), to, static_cast<int>(to_step));
      return;
    }
    if (m == 1 && left.form == CblasNoTrans) {
      const Operand flipped = {right.data, right.form == CblasTrans ? CblasNoTrans : CblasTrans,
                               right.step};
      gemv(flipped, n, k, sign, static_cast<const T*>(left.data), to, 1);
      return;
    }
  }
  gemm(left, right, m, n, k, sign, to, static_cast<int>(to_step));
}

/// Row by row of `b`, so that the innermost loop runs along memory; blocks of `b` stay in cache.
template <class T>
void integer_product(const Matrix& a, const Matrix& b, T* to, Index to_step, Sign sign) {
  constexpr Index kDepth = 64;
  constexpr Index kWidth = 1024;
  for (Index column = 0; column < b.columns; column += kWidth) {
    const Index width = std::min(kWidth, b.columns - column);
    for (Index depth = 0; depth < a.columns; depth += kDepth) {
      const Index end = std::min(depth + kDepth, a.columns);
      for (Index row = 0; row < a.rows; ++row) {
        T* const out = to + row * to_step + column;
        for (Index k = depth; k < end; ++k) {
          T factor = item<T>(a, row, k);
          if (factor == T{}) continue;
          const T* const in = &item<T>(b, k, column);
          if constexpr (std::is_same_v<T, bool>) {
            for (Index j = 0; j < width; ++j) out[j] = out[j] || in[j];
          } else {
            // Wide enough that narrow items are not promoted to a signed int, which may overflow.
            using Wide = std::conditional_t<sizeof(T) < 4, std::uint32_t, T>;
            if (sign == Sign::minus) factor = static_cast<T>(Wide{0} - factor);
            const Wide wide = factor;
            for (Index j = 0; j < width; ++j) out[j] = static_cast<T>(out[j] + wide * in[j]);
          }
        }
      }
    }
  }
}

template <class T>
void integer(const Matrix& a, Matrix b, std::byte* to, Index to_step, Sign sign, Memory& memory) {
  Array kept;
  if (b.column_step != static_cast<Index>(sizeof(T)) ||
      reinterpret_cast<std::uintptr_t>(b.data) % alignof(T) != 0 ||
      b.row_step % static_cast<Index>(alignof(T)) != 0) {
    kept = copied(
        Array::share(kTypeOf<T>, {b.rows, b.columns}, {b.row_step, b.column_step}, b.data, nullptr),
        memory);
    b = matrix_of(kept);
  }
  Array kept_a;
  Matrix left = a;
  if (reinterpret_cast<std::uintptr_t>(a.data) % alignof(T) != 0 ||
      a.row_step % static_cast<Index>(alignof(T)) != 0 ||
      a.column_step % static_cast<Index>(alignof(T)) != 0) {
    kept_a = copied(
        Array::share(kTypeOf<T>, {a.rows, a.columns}, {a.row_step, a.column_step}, a.data, nullptr),
        memory);
    left = matrix_of(kept_a);
  }
  integer_product<T>(left, b, reinterpret_cast<T*>(to), to_step, sign);
}

template <class T>
void blas(const Matrix& a, const Matrix& b, std::byte* to, Index to_step, Sign sign,
          Memory& memory) {
  MUSTER_ASSERT(a.rows <= kMostPerCall && b.columns <= kMostPerCall && to_step <= kMostPerCall,
                "a chunk of a product has fewer rows than BLAS can count");
  for (Index begin = 0; begin < a.columns; begin += kMostPerCall) {
    const Index count = std::min(kMostPerCall, a.columns - begin);
    const Matrix rows = columns_of(b.transposed(), begin, count).transposed();
    blas_product<T>(columns_of(a, begin, count), rows, reinterpret_cast<T*>(to), to_step,
                    T(sign == Sign::plus ? 1 : -1), memory);
  }
}

template <class T>
void square(const Matrix& a, std::byte* to, Index to_step, Memory& memory) {
  MUSTER_ASSERT(a.rows <= kMostPerCall && to_step <= kMostPerCall,
                "a chunk of a product has fewer rows than BLAS can count");
  for (Index begin = 0; begin < a.columns; begin += kMostPerCall) {
    const Matrix part = columns_of(a, begin, std::min(kMostPerCall, a.columns - begin));
    Array kept;
    const Operand operand_of_part = operand<T>(part, kept, memory);
    syrk(operand_of_part, static_cast<int>(part.rows), static_cast<int>(part.columns),
         reinterpret_cast<T*>(to), static_cast<int>(to_step));
  }
}

/// In squares small enough that the lines they are read from and written to stay near.
template <class T>
void mirror(T* items, Index extent) {
  constexpr Index kSide = 32;
  for (Index top = 0; top < extent; top += kSide)
    for (Index left = top; left < extent; left += kSide)
      for (Index row = top; row < std::min(top + kSide, extent); ++row)
        for (Index column = std::max(left, row + 1); column < std::min(left + kSide, extent);
             ++column)
          items[column * extent + row] = items[row * extent + column];
}

template <class T>
void add_typed(const std::byte* from, std::byte* to, Index count) {
  const T* const in = reinterpret_cast<const T*>(from);
  T* const out = reinterpret_cast<T*>(to);
  if constexpr (std::is_same_v<T, bool>)
    for (Index i = 0; i < count; ++i) out[i] = out[i] || in[i];
  else
    for (Index i = 0; i < count; ++i) out[i] = static_cast<T>(out[i] + in[i]);
}

template <class T>
void conjugate(std::byte* items, Index count) {
  auto* const values = reinterpret_cast<std::complex<T>*>(items);
  for (Index i = 0; i < count; ++i) values[i] = std::conj(values[i]);
}

}  // namespace

Matrix matrix_of(const Array& array) {
  MUSTER_ASSERT(array.ndim() == 2, "a matrix has two axes");
  return {array.data(), array.shape()[0], array.shape()[1], array.strides()[0], array.strides()[1]};
}

void add_product(Type type, const Matrix& a, const Matrix& b, std::byte* to, Index to_step,
                 Sign sign, Memory& memory) {
  MUSTER_ASSERT(a.columns == b.rows, "inner sizes were checked before");
  if (a.rows == 0 || b.columns == 0 || a.columns == 0) return;
  switch (type) {
    case Type::f32: return blas<float>(a, b, to, to_step, sign, memory);
    case Type::f64: return blas<double>(a, b, to, to_step, sign, memory);
    case Type::c64: return blas<std::complex<float>>(a, b, to, to_step, sign, memory);
    case Type::c128: return blas<std::complex<double>>(a, b, to, to_step, sign, memory);
    case Type::b1: return integer<bool>(a, b, to, to_step, sign, memory);
    case Type::i8:
    case Type::u8: return integer<std::uint8_t>(a, b, to, to_step, sign, memory);
    case Type::i16:
    case Type::u16: return integer<std::uint16_t>(a, b, to, to_step, sign, memory);
    case Type::i32:
    case Type::u32: return integer<std::uint32_t>(a, b, to, to_step, sign, memory);
    case Type::i64:
    case Type::u64:
    case Type::timedelta: return integer<std::uint64_t>(a, b, to, to_step, sign, memory);
    case Type::f16:
    case Type::datetime: break;
  }
  MUSTER_ASSERT(false, "products are computed in a type that has them");
}

void add_square(Type type, const Matrix& a, std::byte* to, Index to_step, Memory& memory) {
  if (a.rows == 0 || a.columns == 0) return;
  switch (type) {
    case Type::f32: return square<float>(a, to, to_step, memory);
    case Type::f64: return square<double>(a, to, to_step, memory);
    case Type::c64: return square<std::complex<float>>(a, to, to_step, memory);
    case Type::c128: return square<std::complex<double>>(a, to, to_step, memory);
    default: return add_product(type, a, a.transposed(), to, to_step, Sign::plus, memory);
  }
}

void mirror_upper(Type type, std::byte* items, Index extent) {
  switch (item_size(type)) {
    case 1: return mirror(reinterpret_cast<std::uint8_t*>(items), extent);
    case 2: return mirror(reinterpret_cast<std::uint16_t*>(items), extent);
    case 4: return mirror(reinterpret_cast<std::uint32_t*>(items), extent);
    case 8: return mirror(reinterpret_cast<std::uint64_t*>(items), extent);
    default: return mirror(reinterpret_cast<std::complex<double>*>(items), extent);
  }
}

void add_items(Type type, const std::byte* from, std::byte* to, Index count) {
  switch (type) {
    case Type::f32: return add_typed<float>(from, to, count);
    case Type::f64: return add_typed<double>(from, to, count);
    case Type::c64: return add_typed<float>(from, to, 2 * count);
    case Type::c128: return add_typed<double>(from, to, 2 * count);
    case Type::b1: return add_typed<bool>(from, to, count);
    default: break;
  }
  switch (item_size(type)) {
    case 1: return add_typed<std::uint8_t>(from, to, count);
    case 2: return add_typed<std::uint16_t>(from, to, count);
    case 4: return add_typed<std::uint32_t>(from, to, count);
    default: return add_typed<std::uint64_t>(from, to, count);
  }
}

Array copied(const Array& array, Memory& memory) {
  Array out(memory, array.dtype(), array.shape());
  const bool constant = std::all_of(array.strides().begin(), array.strides().end(),
                                    [](Index stride) { return stride == 0; });
  if (constant && array.item_size() == sizeof(std::uint64_t) && out.size() > 0) {
    std::uint64_t item = 0;
    std::memcpy(&item, array.data(), sizeof item);
    std::fill_n(out.mutable_as<std::uint64_t>(), out.size(), item);
  } else {
    copy_items(array, out);
  }
  return out;
}

Array adjoint(const Array& array, Memory& memory) {
  std::vector<int> axes(array.ndim());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  const Array view = array.transposed(axes);
  if (!is_complex(array.dtype().type)) return view;
  Array out = copied(view, memory);
  if (array.dtype().type == Type::c64)
    conjugate<float>(out.mutable_data(), out.size());
  else
    conjugate<double>(out.mutable_data(), out.size());
  return out;
}

}  // namespace muster::engine
