#include "muster/engine/ops/elementwise/elementwise.h"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/creation/full.h"
#include "muster/engine/ops/elementwise/conversion.h"
#include "muster/engine/ops/elementwise/functions.h"
#include "muster/engine/session/session.h"

namespace muster::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
Tensor vector_of(const std::vector<T>& items, DType dtype = kTypeOf<T>) {
  return constant(Array::copy_of(dtype, {static_cast<Index>(items.size())}, items.data()));
}

class Elementwise : public testing::Test {
 protected:
  Session session_{{.threads = 2}};
};

TEST_F(Elementwise, NumbersTakeTheTypeOfTheTensorBesideThem) {
  EXPECT_EQ((vector_of<float>({1, 2}) * 2.5).dtype(), DType(Type::f32));
  EXPECT_EQ((vector_of<float>({1, 2}) + 1).dtype(), DType(Type::f32));
  EXPECT_EQ((vector_of<std::int8_t>({1, 2}) + 1).dtype(), DType(Type::i8));
  EXPECT_EQ((vector_of<std::int8_t>({1, 2}) + 1.0).dtype(), DType(Type::f64));
  EXPECT_EQ((vector_of<float>({1}) * std::complex<double>(0, 1)).dtype(), DType(Type::c64));
  EXPECT_EQ((1 / vector_of<std::int32_t>({1, 2})).dtype(), DType(Type::f64));
  try {
    (void)(vector_of<std::uint8_t>({1}) + 300);
    FAIL();
  } catch (const ArrayError& error) {
    EXPECT_EQ(error.wrong(), Wrong::overflow);
    EXPECT_STREQ(error.what(), "the number 300 is out of bounds for uint8");
  }
}

TEST_F(Elementwise, OperatorsOfTensorsComputeItemByItem) {
  const Tensor x = vector_of<std::int64_t>({7, -7, 8});
  EXPECT_THAT(session_.fetch<std::int64_t>((x + 1) * 2 - x % 3).span(), ElementsAre(15, -14, 16));
  EXPECT_THAT(session_.fetch<bool>((x > 0) & ~equal(x, 8)).span(), ElementsAre(true, false, false));
  EXPECT_THAT(session_.fetch<std::int64_t>(x << 1 | 1).span(), ElementsAre(15, -13, 17));
  EXPECT_THAT(session_.fetch<std::int64_t>(-floor_divide(x, 2)).span(), ElementsAre(-3, 4, -4));
  Tensor y = x;
  y += 1;
  EXPECT_THAT(session_.fetch<std::int64_t>(y).span(), ElementsAre(8, -6, 9));
}

TEST_F(Elementwise, PowersTakeTheShortWay) {
  const Tensor x = vector_of<double>({4});
  EXPECT_EQ(power(x, 2).node()->row().name, "square");
  EXPECT_EQ(power(x, 0.5).node()->row().name, "sqrt");
  EXPECT_EQ(power(x, 3).node()->row().name, "power");
  EXPECT_EQ(session_.fetch<double>(power(x, 3)).item(), 64);
}

TEST_F(Elementwise, VectorsAgreeWithTheStandardLibraryAtEveryPlace) {
  std::vector<double> items;
  for (int i = 0; i < 2061; ++i) items.push_back(std::sin(i) * 40);
  const View<double> got = session_.fetch<double>(sin(vector_of(items)));
  for (std::size_t i = 0; i < items.size(); ++i)
    EXPECT_NEAR(got[i], std::sin(items[i]), 2.3e-16) << items[i];
}

TEST_F(Elementwise, TimesComeToTheFinerUnit) {
  const Tensor days = vector_of<std::int64_t>({1, INT64_MIN}, DType(Type::datetime, TimeUnit::D));
  const Tensor hours = vector_of<std::int64_t>({2}, DType(Type::timedelta, TimeUnit::h));
  const Tensor sum = days + hours;
  EXPECT_EQ(sum.dtype(), DType(Type::datetime, TimeUnit::h));
  EXPECT_THAT(session_.fetch<std::int64_t>(sum).span(), ElementsAre(26, INT64_MIN));
  const Tensor months = vector_of<std::int64_t>({13}, DType(Type::datetime, TimeUnit::M));
  EXPECT_EQ(session_.fetch<std::int64_t>(astype(months, DType(Type::datetime, TimeUnit::D))).item(),
            365 + 31);
}

TEST_F(Elementwise, ReadsItemsThatAreNotAligned) {
  std::vector<std::byte> bytes(8 * 5 + 1);
  for (int i = 0; i < 5; ++i) {
    const double item = i;
    std::memcpy(bytes.data() + 1 + 8 * i, &item, sizeof item);
  }
  const auto owner = std::make_shared<int>();
  const Tensor x = constant(Array::share(Type::f64, {5}, {8}, bytes.data() + 1, owner));
  EXPECT_THAT(session_.fetch<double>(x + 1).span(), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(Elementwise, WritesIntoAnInputThatNobodyElseReads) {
  Options options;
  options.disabled_passes = {"fuse_elementwise"};
  constexpr Index kItems = 1 << 20;
  const Tensor x = full({kItems}, Scalar(1.0));
  const Tensor y = sqrt(x + 3);
  session_.memory().reset_peak();
  session_.execute({y}, options);
  EXPECT_LT(session_.memory().peak(), 8 * kItems + (1u << 16));
  EXPECT_EQ(session_.fetch<double>(y)[kItems - 1], 2);
}

TEST_F(Elementwise, LeavesAnInputAloneThatIsReadAgain) {
  Options options;
  options.disabled_passes = {"fuse_elementwise"};
  const Tensor x = vector_of<double>({1, 2}) + 1;
  const Tensor y = sqrt(x * x);
  session_.execute({y, x}, options);
  EXPECT_THAT(session_.fetch<double>(x).span(), ElementsAre(2, 3));
  EXPECT_THAT(session_.fetch<double>(y).span(), ElementsAre(2, 3));
  const Tensor again = x * 10;
  session_.execute({again}, options);
  EXPECT_THAT(session_.fetch<double>(x).span(), ElementsAre(2, 3));
}

TEST_F(Elementwise, SaysWhichTypeTheItemsHave) {
  try {
    (void)session_.fetch<float>(vector_of<double>({1}) + 1);
    FAIL();
  } catch (const ArrayError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the items are float64, not float32"));
  }
}

}  // namespace
}  // namespace muster::engine
