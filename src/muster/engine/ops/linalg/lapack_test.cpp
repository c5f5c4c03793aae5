#include "muster/engine/ops/linalg/lapack.h"

#include <cmath>
#include <complex>
#include <cstring>

#include <gtest/gtest.h>

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/linalg/matrix.h"

namespace muster::engine {

namespace {

template <class T>
class Factorization : public testing::Test {
 protected:
  using Real = decltype(std::abs(T{}));

  /// BLAS without threads of its own, as kernels use it.
  static void SetUpTestSuite() { (void)registry(); }

  /// In Fortran order; no two columns are alike.
  Array matrix(Index rows, Index columns) {
    Array out(*memory_, kTypeOf<T>, {rows, columns}, Order::fortran);
    for (Index i = 0; i < out.size(); ++i) {
      const auto at = static_cast<double>(i);
      if constexpr (std::is_same_v<T, Real>)
        out.mutable_as<T>()[i] = static_cast<T>(std::sin(at * at));
      else
        out.mutable_as<T>()[i] =
            T(static_cast<Real>(std::sin(at * at)), static_cast<Real>(std::cos(3 * at * at)));
    }
    return out;
  }

  Array product(const Array& left, const Array& right) {
    Array out(*memory_, kTypeOf<T>, {left.shape()[0], right.shape()[1]});
    std::memset(out.mutable_data(), 0, out.nbytes());
    add_product(kTypeOf<T>, matrix_of(left), matrix_of(right), out.mutable_data(), right.shape()[1],
                Sign::plus, *memory_);
    return out;
  }

  static T item(const Array& array, Index row, Index column) {
    T out;
    std::memcpy(&out, array.data() + row * array.strides()[0] + column * array.strides()[1],
                sizeof out);
    return out;
  }

  static void expect_close(const Array& got, const Array& wanted) {
    ASSERT_EQ(got.shape(), wanted.shape());
    const Real most = 100 * std::numeric_limits<Real>::epsilon();
    for (Index row = 0; row < got.shape()[0]; ++row)
      for (Index column = 0; column < got.shape()[1]; ++column)
        ASSERT_LE(std::abs(item(got, row, column) - item(wanted, row, column)), most)
            << "row " << row << ", column " << column;
  }

  Array identity(Index extent) {
    Array out(*memory_, kTypeOf<T>, {extent, extent}, Order::fortran);
    std::memset(out.mutable_data(), 0, out.nbytes());
    for (Index i = 0; i < extent; ++i) out.mutable_as<T>()[i * (extent + 1)] = T{1};
    return out;
  }

  std::shared_ptr<Memory> memory_ = Memory::make(std::size_t{64} << 20);
};

using FactorizationItems = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Factorization, FactorizationItems);

TYPED_TEST(Factorization, ThinFactorsMultiplyToTheMatrix) {
  for (const auto& [rows, columns] : {std::pair<Index, Index>{1, 1}, {7, 7}, {90, 1}, {200, 50}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << columns);
    const Array a = this->matrix(rows, columns);
    const auto [q, r] = lapack_thin_qr(fortran_copy(a, *this->memory_), *this->memory_);
    this->expect_close(this->product(q, r), a);
    this->expect_close(this->product(adjoint(q, *this->memory_), q), this->identity(columns));
    for (Index row = 0; row < columns; ++row)
      for (Index column = 0; column < row; ++column)
        EXPECT_EQ(this->item(r, row, column), TypeParam{});
  }
}

TYPED_TEST(Factorization, ThinFactorsAreThoseOfReflectors) {
  const Array a = this->matrix(150, kThinColumns);
  const Reflectors reflectors = lapack_qr(a, *this->memory_);
  Array whole = this->identity(150);
  lapack_apply_q(reflectors.factors, reflectors.scales, Apply::q, whole, *this->memory_);
  const auto [q, r] = lapack_thin_qr(fortran_copy(a, *this->memory_), *this->memory_);
  this->expect_close(q, whole.slice({0, 0}, q.shape()));
}

TYPED_TEST(Factorization, ReflectorsOfManyColumnsTakeTheMatrixToItsTriangle) {
  for (const auto& [rows, columns] : {std::pair<Index, Index>{140, 140}, {70, 150}, {150, 70}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << columns);
    const Array a = this->matrix(rows, columns);
    const Reflectors reflectors = lapack_qr(a, *this->memory_);
    ASSERT_EQ(reflectors.scales.shape(), (Shape{std::min(rows, columns)}));
    Array upper = fortran_copy(reflectors.factors, *this->memory_);
    for (Index column = 0; column < columns; ++column)
      for (Index row = column + 1; row < rows; ++row)
        upper.mutable_as<TypeParam>()[row + column * rows] = TypeParam{};
    lapack_apply_q(reflectors.factors, reflectors.scales, Apply::q, upper, *this->memory_);
    this->expect_close(upper, a);
  }
}

}  // namespace
}  // namespace muster::engine
