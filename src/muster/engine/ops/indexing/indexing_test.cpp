#include <array>

#include <gmock/gmock.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/creation/ranges.h"
#include "muster/engine/ops/indexing/choose.h"
#include "muster/engine/ops/indexing/gather.h"
#include "muster/engine/ops/indexing/mask.h"
#include "muster/engine/ops/indexing/range.h"
#include "muster/engine/ops/indexing/slice.h"
#include "muster/engine/ops/joining/concatenate.h"
#include "muster/engine/ops/shape/axes.h"
#include "muster/engine/ops/shape/rechunk.h"
#include "muster/engine/ops/shape/reshape.h"
#include "muster/engine/session/session.h"

namespace muster::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Indexing : public testing::Test {
 protected:
  /// The items in C order.
  std::vector<std::int64_t> items(const Tensor& tensor) {
    const Array array = session_.fetch(tensor).contiguous(*memory_);
    const auto* const first = array.as<std::int64_t>();
    return {first, first + array.size()};
  }

  /// 0, 1, 2, ... in rows of `columns`, chunks of three by two.
  static Tensor numbers(Index rows, Index columns) {
    return rechunk(reshape(arange(0, rows * columns), {rows, columns}), Ints{3, 2});
  }

  std::shared_ptr<Memory> memory_ = Memory::make(1u << 20);
  Session session_{{.threads = 2}};
};

TEST_F(Indexing, TakesSlicesOfEachAxis) {
  EXPECT_THAT(items(slice(numbers(5, 4), {{kOpen, kOpen, -2}, {1, 3}})),
              ElementsAre(17, 18, 9, 10, 1, 2));
}

TEST_F(Indexing, TakesItemsFromAnyChunk) {
  const std::vector<std::int64_t> positions = {4, 0, -1};
  const Tensor index = constant(Array::copy_of(Type::i64, {3}, positions.data()));
  EXPECT_THAT(items(take(numbers(5, 2), index, 0)), ElementsAre(8, 9, 0, 1, 8, 9));
  EXPECT_THAT(items(take(numbers(2, 5), index, 1)), ElementsAre(4, 0, 4, 9, 5, 9));
}

TEST_F(Indexing, NamesAnIndexThatIsNotThere) {
  const std::int64_t position = 7;
  const Tensor index = constant(Array::copy_of(Type::i64, {1}, &position));
  try {
    session_.execute(take(numbers(5, 2), index, 0));
    FAIL();
  } catch (const ArrayError& error) {
    EXPECT_EQ(error.wrong(), Wrong::index);
    EXPECT_THAT(error.what(), HasSubstr("index 7 is out of bounds for axis 0 with size 5"));
  }
}

TEST_F(Indexing, LearnsHowManyAMaskChooses) {
  const std::array<bool, 5> chosen = {true, false, false, true, true};
  const Tensor mask = constant(Array::copy_of(Type::b1, {5}, chosen.data()), std::int64_t{2});
  const Tensor rows = compress(numbers(5, 2), mask, 0);
  EXPECT_EQ(rows.shape(), (Shape{kUnknown, 2}));
  EXPECT_THAT(items(slice(rows, {{kOpen, kOpen, -1}})), ElementsAre(8, 9, 6, 7, 0, 1));
  EXPECT_EQ(rows.ndim(), 2u);
  EXPECT_THAT(items(flatnonzero(mask)), ElementsAre(0, 3, 4));
  EXPECT_THAT(items(choose(mask, {arange(0, 5), arange(10, 15)})), ElementsAre(10, 1, 2, 13, 14));
}

TEST_F(Indexing, ShapesAndJoinsWhatIsInChunks) {
  const Tensor x = numbers(4, 3);
  EXPECT_THAT(items(slice(reshape(transpose(x), {2, 6}), {{1, 2}})),
              ElementsAre(7, 10, 2, 5, 8, 11));
  EXPECT_THAT(items(concatenate({slice(x, {{0, 1}}), slice(x, {{3, 4}})})),
              ElementsAre(0, 1, 2, 9, 10, 11));
  EXPECT_EQ(stack({x, x}, 1).shape(), (Shape{4, 2, 3}));
}

}  // namespace
}  // namespace muster::engine
