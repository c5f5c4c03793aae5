#include "muster/engine/kernels/evaluation.h"

#include <numeric>

#include <gtest/gtest.h>

namespace muster::engine {
namespace {

std::shared_ptr<const Program> identity() {
  Program::Builder builder;
  return builder.build(builder.input(Type::f64));
}

/// What `next` says for all items, one after the other.
std::vector<Index> pieces(const Evaluation& evaluation, Index count) {
  std::vector<Index> out;
  for (Index begin = 0; begin < count; begin += out.back())
    out.push_back(evaluation.next(begin, count - begin));
  return out;
}

class EvaluationTest : public testing::Test {
 protected:
  EvaluationTest() : items_(5 * 2000) { std::iota(items_.begin(), items_.end(), 0.0); }
  [[nodiscard]] Array whole() const { return Array::copy_of(Type::f64, {5, 2000}, items_.data()); }
  std::vector<double> items_;
};

TEST_F(EvaluationTest, TakesFullBlocksOfWhatHasNoGaps) {
  const auto program = identity();
  const Evaluation evaluation(*program, std::vector{whole()}, {5, 2000});
  EXPECT_EQ(evaluation.next(0, 10'000), kBlock);
  EXPECT_EQ(evaluation.next(9'000, 1'000), 1'000);
}

TEST_F(EvaluationTest, EndsBlocksWithTheRowsThatHaveGapsBetween) {
  const auto program = identity();
  const std::vector inputs{whole().slice({0, 100}, {5, 1500})};
  Evaluation evaluation(*program, inputs, {5, 1500});
  EXPECT_EQ(pieces(evaluation, 3'000), (std::vector<Index>{750, 750, 750, 750}));
  const auto* const at = reinterpret_cast<const double*>(evaluation.block(750, 750));
  EXPECT_EQ(*at, 850.0);
  EXPECT_EQ(reinterpret_cast<const std::byte*>(at), inputs[0].data() + 750 * sizeof(double))
      << "nothing is copied";
}

TEST_F(EvaluationTest, CopiesShortRowsTogether) {
  const auto program = identity();
  const Evaluation evaluation(*program, std::vector{whole().slice({0, 0}, {5, 50})}, {5, 50});
  EXPECT_EQ(evaluation.next(0, 250), 250);
}

}  // namespace
}  // namespace muster::engine
