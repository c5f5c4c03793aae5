#include "muster/engine/ops/linalg/products.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/creation/full.h"
#include "muster/engine/ops/linalg/cholesky.h"
#include "muster/engine/session/session.h"

namespace muster::engine {

TEST(Products, InnerProductOfOnesInManyChunksCountsThem) {
  Session session({.threads = 2});
  const Tensor ones = full({70, 50}, 1.0, std::int64_t{16});
  const Array result = session.fetch(inner(ones, ones));
  ASSERT_EQ(result.shape(), (Shape{70, 70}));
  for (Index i = 0; i < result.size(); ++i) EXPECT_EQ(result.as<double>()[i], 50.0);
}

TEST(Products, MatricesInMemoryAreCutAsSuitsBlas) {
  Session session({.threads = 2});
  const Index rows = 2100;
  const Index summed = 700;
  std::vector<double> items(static_cast<std::size_t>(rows * summed));
  std::iota(items.begin(), items.end(), 0.0);
  const Tensor a =
      constant(Array::copy_of(Type::f64, {rows, summed}, items.data()), Ints{300, 240});
  const Tensor b =
      constant(Array::copy_of(Type::f64, {summed, rows}, items.data()), Ints{177, 900});
  const Tensor lazy = matmul(a, b);
  session.execute(lazy);
  // A block may be an eighth larger than what it holds; a copy of a factor would be a third more.
  EXPECT_LE(session.memory().peak(), static_cast<std::size_t>(rows * rows * 9))
      << "a factor was copied";
  const Array product = session.fetch(lazy);
  for (const Index row : {0, 299, 300, 1050, 2099})
    for (const Index column : {0, 1049, 1050, 2099}) {
      double expected = 0;
      for (Index k = 0; k < summed; ++k)
        expected += static_cast<double>((row * summed + k) * (k * rows + column));
      EXPECT_DOUBLE_EQ(product.as<double>()[row * rows + column], expected);
    }
}

TEST(Products, LongSumsAreSplitBetweenThreads) {
  Session session({.threads = 4});
  const Tensor ones = full({1 << 23}, 1.0);
  EXPECT_EQ(*session.fetch(dot(ones, ones)).as<double>(), static_cast<double>(1 << 23));
}

TEST(Products, RefuseSizesThatDoNotFit) {
  EXPECT_THROW((void)matmul(full({2, 3}, 1.0), full({4, 2}, 1.0)), ArrayError);
}

TEST(Cholesky, RefusesWhatIsNotPositiveDefinite) {
  Session session({.threads = 2});
  const Tensor minus = full({3, 3}, -1.0);
  try {
    (void)session.fetch(cholesky(minus));
    FAIL() << "it was factored";
  } catch (const ArrayError& error) {
    EXPECT_EQ(error.wrong(), Wrong::linalg);
  }
}

}  // namespace muster::engine
