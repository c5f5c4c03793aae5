#include "muster/engine/ops/reduction/reduce.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/reduction/arg.h"
#include "muster/engine/ops/reduction/extremes.h"
#include "muster/engine/ops/reduction/scan.h"
#include "muster/engine/ops/reduction/sum.h"
#include "muster/engine/ops/reduction/variance.h"
#include "muster/engine/session/session.h"

namespace muster::engine {
namespace {

Tensor ramp(const Shape& shape, Attribute::Value chunk_size = {}) {
  std::vector<double> items(static_cast<std::size_t>(volume(shape)));
  std::iota(items.begin(), items.end(), 0.0);
  return constant(Array::copy_of(Type::f64, shape, items.data()), std::move(chunk_size));
}

class Reduce : public ::testing::Test {
 protected:
  double number(const Tensor& x) { return *session_.fetch(x).as<double>(); }
  Session session_{{.threads = 2}};
};

TEST_F(Reduce, FoldsRunsOfEveryLength) {
  for (const Index run : {1, 2, 3, 4, 5, 23, 24, 31, 1023, 1024, 1025, 5000}) {
    const Array sums = session_.fetch(sum(ramp({3, run}), axis(1)));
    const auto n = static_cast<double>(run);
    for (Index row = 0; row < 3; ++row)
      EXPECT_DOUBLE_EQ(sums.as<double>()[row], n * n * static_cast<double>(row) + n * (n - 1) / 2)
          << run;
  }
}

TEST_F(Reduce, FoldsRowsOfEveryWidth) {
  for (const Index width : {2, 7, 63, 64, 1000, 1024, 1025, 3000}) {
    const Array sums = session_.fetch(sum(ramp({40, width}, Ints{17, width}), axis(0)));
    for (Index column = 0; column < width; ++column)
      ASSERT_DOUBLE_EQ(sums.as<double>()[column],
                       40.0 * static_cast<double>(column) + 780.0 * static_cast<double>(width));
  }
}

TEST_F(Reduce, FoldsRowsWithGapsBetweenThem) {
  const Index rows = 207;
  const Index columns = 3001;
  const double items = static_cast<double>(rows * columns);
  const Tensor x = ramp({rows, columns}, Ints{103, 1447});
  EXPECT_DOUBLE_EQ(number(sum(x)), items * (items - 1) / 2);
  EXPECT_DOUBLE_EQ(number(max(x)), items - 1);
  EXPECT_NEAR(number(var(x)), (items * items - 1) / 12, 1e-3);
  const Array along = session_.fetch(sum(x, axis(1)));
  for (Index row = 0; row < rows; ++row)
    ASSERT_DOUBLE_EQ(along.as<double>()[row],
                     static_cast<double>(columns * row * columns + columns * (columns - 1) / 2));
  const Array across = session_.fetch(sum(x, axis(0)));
  for (Index column = 0; column < columns; ++column)
    ASSERT_DOUBLE_EQ(across.as<double>()[column],
                     static_cast<double>(rows * column + columns * rows * (rows - 1) / 2));
}

TEST_F(Reduce, FoldsLongRowsOfEveryLength) {
  for (const Index length : {63'999, 64'000, 64'001, 200'000}) {
    const auto items = static_cast<double>(length);
    EXPECT_DOUBLE_EQ(number(sum(ramp({length}, length))), items * (items - 1) / 2) << length;
    EXPECT_NEAR(number(var(ramp({length}, length))) / ((items * items - 1) / 12), 1, 1e-12);
  }
}

TEST_F(Reduce, FoldsStripsOfColumnsOfEveryWidth) {
  // Strips have so many columns as accumulators of 8, 16 and 24 bytes have room.
  for (const Index strip : {32'768, 16'384, 10'240})
    for (Index columns = strip - 1; columns <= strip + 2; ++columns) {
      constexpr Index kRows = 8;
      const Tensor x = ramp({kRows, columns}, Ints{kRows, columns});
      const Array sums = session_.fetch(sum(x, axis(0)));
      const Array least = session_.fetch(min(x, axis(0)));
      const Array variances = session_.fetch(var(x, axis(0)));
      const auto spread = static_cast<double>(columns * columns * (kRows * kRows - 1)) / 12;
      for (Index column = 0; column < columns; ++column) {
        ASSERT_DOUBLE_EQ(sums.as<double>()[column],
                         static_cast<double>(kRows * column + columns * 28))
            << columns;
        ASSERT_EQ(least.as<double>()[column], static_cast<double>(column)) << columns;
        ASSERT_NEAR(variances.as<double>()[column] / spread, 1, 1e-12) << columns;
      }
    }
}

TEST_F(Reduce, FindsTheBestOfRunsOfEveryLength) {
  for (const Index length : {128, 129, 255, 256, 257, 1000, 1024, 5000})
    for (const Index rows : {3, 4, 5, 9}) {
      const Tensor x = ramp({rows, length});
      const Array least = session_.fetch(min(x, axis(1)));
      const Array most = session_.fetch(max(x, axis(1)));
      for (Index row = 0; row < rows; ++row) {
        ASSERT_EQ(least.as<double>()[row], static_cast<double>(row * length)) << length;
        ASSERT_EQ(most.as<double>()[row], static_cast<double>((row + 1) * length - 1)) << length;
      }
    }
}

TEST_F(Reduce, FindsNanInTheRunsThatHaveIt) {
  constexpr Index kRows = 6;
  constexpr Index kLength = 700;
  for (Index row = 0; row < kRows; ++row)
    for (const Index place : {0, 1, 255, 256, 511, 699}) {
      std::vector<double> items(kRows * kLength, -1.0);
      items[static_cast<std::size_t>(row * kLength + place)] = std::nan("");
      const Tensor x = constant(Array::copy_of(Type::f64, {kRows, kLength}, items.data()));
      const Array most = session_.fetch(max(x, axis(1)));
      for (Index other = 0; other < kRows; ++other)
        ASSERT_EQ(std::isnan(most.as<double>()[other]), other == row) << row << " " << place;
    }
}

TEST_F(Reduce, ReadsLargeArraysInWholeRows) {
  const Index rows = 1100;
  const Index columns = 1001;
  const Tensor x = ramp({rows, columns}, Ints{250, 300});
  const double items = static_cast<double>(rows * columns);
  const Tensor down = sum(x, axis(0));
  const Array sums = session_.fetch(down);
  EXPECT_EQ(down.node()->stored(0)->splits(), Splits({{columns}}));
  for (Index column = 0; column < columns; ++column)
    ASSERT_DOUBLE_EQ(sums.as<double>()[column],
                     static_cast<double>(rows * column + columns * rows * (rows - 1) / 2));
  const Array along = session_.fetch(max(x, axis(1)));
  for (Index row = 0; row < rows; ++row)
    ASSERT_EQ(along.as<double>()[row], static_cast<double>((row + 1) * columns - 1));
  EXPECT_EQ(number(max(x)), items - 1);
  EXPECT_EQ(*session_.fetch(argmax(x)).as<std::int64_t>(), rows * columns - 1);
}

TEST_F(Reduce, LeavesChunksThatLieApartAsTheyAre) {
  const Index rows = 1100;
  const Index columns = 1001;
  const Tensor x = ramp({rows, columns}, Ints{250, 300});
  const Tensor apart = apply_one("negative", {x});
  session_.execute(apart);
  const Tensor down = sum(apart, axis(0));
  session_.execute(down);
  EXPECT_EQ(down.node()->stored(0)->splits(), Splits({{300, 300, 300, 101}}));
}

TEST_F(Reduce, AddsLongRowsUpWithSmallErrors) {
  constexpr Index kLength = 1'000'000;
  const std::vector<double> items(3 * kLength, 0.1);
  const Shape shape = {3, kLength};
  const Tensor x = constant(Array::copy_of(Type::f64, shape, items.data()), Ints{3, kLength});
  const Array sums = session_.fetch(sum(x, axis(1)));
  for (Index row = 0; row < 3; ++row) EXPECT_NEAR(sums.as<double>()[row], 1e5, 1e-9);
  EXPECT_NEAR(number(sum(x)), 3e5, 3e-9);
}

TEST_F(Reduce, JoinsVariancesOfChunksWithoutCancellation) {
  std::vector<double> items(30'000);
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = 1e9 + static_cast<double>(i % 2);
  const Tensor x = constant(Array::copy_of(Type::f64, {30'000}, items.data()), std::int64_t{1'700});
  EXPECT_NEAR(number(var(x)), 0.25, 1e-9);
  EXPECT_NEAR(number(std_(x, {}, 1)), std::sqrt(0.25 * 30'000 / 29'999), 1e-9);
}

TEST_F(Reduce, FindsTheFirstGreatestOverChunks) {
  std::vector<double> items(6 * 8, 1.0);
  items[11] = items[29] = 5.0;
  const Tensor x = constant(Array::copy_of(Type::f64, {6, 8}, items.data()), Ints{4, 3});
  EXPECT_EQ(*session_.fetch(argmax(x)).as<Index>(), 11);
  items[40] = std::numeric_limits<double>::quiet_NaN();
  const Tensor y = constant(Array::copy_of(Type::f64, {6, 8}, items.data()), Ints{4, 3});
  EXPECT_EQ(*session_.fetch(argmax(y)).as<Index>(), 40);
  EXPECT_TRUE(std::isnan(number(max(y))));
}

TEST_F(Reduce, ScansOverChunks) {
  const Array sums = session_.fetch(cumsum(ramp({100, 3}, Ints{7, 2}), 0));
  EXPECT_EQ(sums.as<double>()[99 * 3 + 1], 3.0 * 99 * 100 / 2 + 100);
  const Array flat = session_.fetch(cumsum(ramp({10, 10}, Ints{3, 4})));
  EXPECT_EQ(flat.as<double>()[99], 4950);
}

TEST_F(Reduce, RefusesTheLeastOfNothing) {
  EXPECT_THROW((void)min(ramp({0})), ArrayError);
  EXPECT_NO_THROW((void)min(ramp({0, 3}), axis(1)));
}

}  // namespace
}  // namespace muster::engine
