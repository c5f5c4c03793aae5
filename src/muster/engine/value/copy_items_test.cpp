#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "muster/engine/value/array.h"

namespace muster::engine {
namespace {

/// Copies a transposed array of distinct items, and says whether each arrived.
bool arrives(DType dtype, const Shape& shape, const std::vector<int>& axes) {
  const auto memory = Memory::make(1u << 28);
  Array in(*memory, dtype, shape);
  auto* const bytes = in.mutable_as<std::uint8_t>();
  for (std::size_t i = 0; i < in.nbytes(); ++i)
    bytes[i] = static_cast<std::uint8_t>(i * 31 + i / 256);
  const Array turned = in.transposed(axes);
  Array out(*memory, dtype, turned.shape());
  copy_items(turned, out);
  bool same = true;
  for_each_position(turned.shape(), [&](const Shape& position) {
    Index from = 0;
    Index to = 0;
    for (std::size_t axis = 0; axis < position.size(); ++axis) {
      from += position[axis] * turned.strides()[axis];
      to += position[axis] * out.strides()[axis];
    }
    same = same && std::memcmp(turned.data() + from, out.data() + to, in.item_size()) == 0;
  });
  return same;
}

TEST(CopyItems, TurnsMatricesOfEverySizeOfItem) {
  for (const Type type : {Type::u8, Type::i16, Type::f32, Type::f64, Type::c128})
    for (const Shape& shape : {Shape{8, 8}, Shape{70, 65}, Shape{131, 20}, Shape{9, 200}})
      EXPECT_TRUE(arrives(type, shape, {1, 0})) << name(type) << " " << text(shape);
}

TEST(CopyItems, TurnsInnerAxesOfMoreThanTwo) {
  EXPECT_TRUE(arrives(Type::f64, {3, 20, 30}, {2, 1, 0}));
  EXPECT_TRUE(arrives(Type::f32, {3, 20, 30}, {0, 2, 1}));
  EXPECT_TRUE(arrives(Type::f32, {40, 2, 3}, {2, 0, 1}));
}

TEST(CopyItems, WritesIntoTurnedArraysToo) {
  const auto memory = Memory::make(1u << 28);
  Array in(*memory, Type::i64, {20, 30});
  std::iota(in.mutable_as<std::int64_t>(), in.mutable_as<std::int64_t>() + 600, std::int64_t{0});
  Array out(*memory, Type::i64, {20, 30}, Order::fortran);
  copy_items(in, out);
  for (Index i = 0; i < 20; ++i)
    for (Index j = 0; j < 30; ++j) EXPECT_EQ(out.as<std::int64_t>()[j * 20 + i], i * 30 + j);
}

}  // namespace
}  // namespace muster::engine
