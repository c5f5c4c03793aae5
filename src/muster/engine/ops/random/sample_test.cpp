#include "muster/engine/ops/random/sample.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/random/distribution.h"
#include "muster/engine/session/session.h"

namespace muster::engine::random {
namespace {

Tensor drawn(const Distribution& distribution, Attribute::Value chunk_size) {
  std::vector<Tensor> parameters;
  for (const Parameter& parameter : distribution.parameters)
    parameters.push_back(constant(
        parameter.needs == Needs::above_one                                      ? Scalar(2.5)
        : parameter.needs == Needs::up_to_1e9 || parameter.needs == Needs::count ? Scalar(30.0)
        : distribution.parameter_type != Type::f64
            ? Scalar(std::int64_t{parameters.empty() ? 3 : 9})
            : Scalar(0.3 * double(1 + parameters.size()))));
  return sample(distribution.name, parameters,
                {.key = 42, .size = Shape{6, 5, 7}, .chunk_size = std::move(chunk_size)});
}

TEST(Sample, IsTheSameForEveryChunking) {
  Session one({.threads = 1});
  Session two({.threads = 2});
  for (const Distribution& distribution : distributions()) {
    const Array whole = one.fetch(drawn(distribution, {}));
    for (const Attribute::Value& chunk_size :
         {Attribute::Value(std::int64_t{3}), Attribute::Value(Ints{1, 5, 2}),
          Attribute::Value(Ints{2, 4, 7})}) {
      const Array cut = two.fetch(drawn(distribution, chunk_size));
      ASSERT_EQ(cut.nbytes(), whole.nbytes());
      EXPECT_EQ(std::memcmp(cut.data(), whole.data(), whole.nbytes()), 0) << distribution.name;
    }
  }
}

TEST(Sample, MayBeOfAnySizeWithoutAChunkSize) {
  EXPECT_EQ(uniform({1'000'000'000, 2}, 1).shape(), (Shape{1'000'000'000, 2}));
}

TEST(Sample, TakesParametersThatDiffer) {
  Session session({.threads = 2});
  const std::vector<double> low = {0, 10, 20};
  const Tensor lows = constant(Array::copy_of(Type::f64, {3}, low.data()));
  const Tensor highs = constant(Scalar(30.0));
  const Array got = session.fetch(sample(
      "random.uniform", {lows, highs}, {.key = 1, .size = Shape{50, 3}, .chunk_size = Ints{7, 2}}));
  for (Index i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got.as<double>()[i] >= low[static_cast<std::size_t>(i % 3)] &&
                got.as<double>()[i] < 30);
}

TEST(Sample, RefusesParametersWhereTheyAreWritten) {
  try {
    (void)normal({3}, 1, 0, -2);
    FAIL();
  } catch (const ArrayError& error) {
    EXPECT_STREQ(error.what(), "[random.normal] scale is -2, but must be at least 0");
  }
  EXPECT_THROW((void)integers({3}, 1, 5, 5), ArrayError);
  EXPECT_THROW((void)uniform({-1}, 1), ArrayError);
}

TEST(Sample, CountsFromZeroToTheEndOfTheRange) {
  Session session({.threads = 1});
  std::array<int, 3> seen{};
  const Array got = session.fetch(integers({3000}, 9, -1, 2));
  for (Index i = 0; i < got.size(); ++i)
    ++seen[static_cast<std::size_t>(got.as<std::int64_t>()[i] + 1)];
  for (const int count : seen) EXPECT_NEAR(count, 1000, 120);
}

}  // namespace
}  // namespace muster::engine::random
