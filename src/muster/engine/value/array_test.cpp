#include "muster/engine/value/array.h"

#include <numeric>

#include <gmock/gmock.h>

namespace muster::engine {
namespace {

using testing::ElementsAre;

class ArrayTest : public testing::Test {
 protected:
  Array ramp(Shape shape) {
    Array array(*memory_, Type::i32, std::move(shape));
    std::iota(array.mutable_as<std::int32_t>(), array.mutable_as<std::int32_t>() + array.size(), 0);
    return array;
  }
  std::vector<std::int32_t> items(const Array& array) {
    const Array whole = array.contiguous(*memory_);
    return {whole.as<std::int32_t>(), whole.as<std::int32_t>() + whole.size()};
  }
  std::shared_ptr<Memory> memory_ = Memory::make(1u << 20);
};

TEST_F(ArrayTest, SlicesWithStepsAreViews) {
  const Array whole = ramp({3, 4});
  const Array part = whole.slice({2, 3}, {2, 2}, {-1, -2});
  EXPECT_EQ(part.owner(), whole.owner());
  EXPECT_THAT(items(part), ElementsAre(11, 9, 7, 5));
}

TEST_F(ArrayTest, TransposesAndReshapesInCOrder) {
  const Array turned = ramp({2, 3}).transposed({1, 0});
  EXPECT_TRUE(turned.is_f_contiguous());
  EXPECT_FALSE(turned.is_c_contiguous());
  EXPECT_THAT(items(turned.reshaped(*memory_, {6})), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST_F(ArrayTest, BroadcastsWithoutCopying) {
  const Array wide = ramp({2, 1}).broadcast_to({3, 2, 2});
  EXPECT_THAT(items(wide), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1));
}

TEST_F(ArrayTest, IsSoleUntilItIsShared) {
  Array one = ramp({2});
  EXPECT_TRUE(one.is_sole());
  const Array view = one.slice({0}, {1});
  EXPECT_FALSE(one.is_sole());
}

TEST_F(ArrayTest, ForeignItemsAreNeverOursToChange) {
  const std::int32_t item = 7;
  EXPECT_FALSE(Array::copy_of(Type::i32, {1}, &item).is_sole());
}

TEST_F(ArrayTest, AWalkJoinsAxesThatLieTogether) {
  const Array whole = ramp({2, 3, 4});
  EXPECT_EQ(Walk(whole.shape(), {whole.strides()}).run_length(), 24);
  const Array part = whole.slice({0, 0, 0}, {2, 3, 2});
  EXPECT_EQ(Walk(part.shape(), {part.strides()}).run_length(), 2);
}

TEST_F(ArrayTest, AWalkOverNothingCallsNobody) {
  const Array none = ramp({2, 0, 3});
  int calls = 0;
  Walk(none.shape(), {none.strides()})({const_cast<std::byte*>(none.data())},
                                       [&](std::byte* const*, Index) { ++calls; });
  EXPECT_EQ(calls, 0);
}

TEST_F(ArrayTest, AWalkOverOneItemCallsOnce) {
  const Array one = ramp({});
  int calls = 0;
  Walk(one.shape(), {one.strides()})({const_cast<std::byte*>(one.data())},
                                     [&](std::byte* const*, Index count) {
                                       EXPECT_EQ(count, 1);
                                       ++calls;
                                     });
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace muster::engine
