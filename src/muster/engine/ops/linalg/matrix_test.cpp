#include "muster/engine/ops/linalg/matrix.h"

#include <complex>
#include <cstring>

#include <gtest/gtest.h>

namespace muster::engine {

namespace {

template <class T>
class Squares : public testing::Test {
 protected:
  Array matrix(Index rows, Index columns, Order order) {
    Array out(*memory_, kTypeOf<T>, {rows, columns}, order);
    for (Index i = 0; i < out.size(); ++i) out.mutable_as<T>()[i] = static_cast<T>(i * 7 % 5);
    return out;
  }

  Array zeros(Index extent) {
    Array out(*memory_, kTypeOf<T>, {extent, extent});
    std::memset(out.mutable_data(), 0, out.nbytes());
    return out;
  }

  std::shared_ptr<Memory> memory_ = Memory::make(std::size_t{64} << 20);
};

using SquareItems = testing::Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                   float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Squares, SquareItems);

TYPED_TEST(Squares, AreProductsOfAMatrixAndItsTransposition) {
  const Type type = kTypeOf<TypeParam>;
  for (const Order order : {Order::c, Order::fortran})
    for (const Index extent : {1, 5, 31, 32, 33, 70}) {
      SCOPED_TRACE(extent);
      const Array whole = this->matrix(extent, 24, order);
      // Rows with gaps, from the second column on.
      const Array a = whole.slice({0, 1}, {extent, 20});
      Array wanted = this->zeros(extent);
      Array got = this->zeros(extent);
      for (int round = 0; round < 2; ++round) {
        add_product(type, matrix_of(a), matrix_of(a).transposed(), wanted.mutable_data(), extent,
                    Sign::plus, *this->memory_);
        add_square(type, matrix_of(a), got.mutable_data(), extent, *this->memory_);
      }
      mirror_upper(type, got.mutable_data(), extent);
      EXPECT_EQ(std::memcmp(got.data(), wanted.data(), wanted.nbytes()), 0);
    }
}

}  // namespace
}  // namespace muster::engine
