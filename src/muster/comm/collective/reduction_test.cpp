#include "muster/comm/collective/reduction.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/scalar.h"
#include "muster/comm/collective/vector.h"

namespace muster::comm::collective {
namespace {

using Bytes = std::vector<std::byte>;

constexpr ReductionKind kKinds[] = {ReductionKind::sum, ReductionKind::prod, ReductionKind::min,
                                    ReductionKind::max, ReductionKind::mean, ReductionKind::band,
                                    ReductionKind::bor, ReductionKind::bxor};

Bytes random_bytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

template <class T>
bool is_nan(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  if constexpr (scalar::Half<T>)
    return std::isnan(to_float(value));
  else
    return std::isnan(value);
}

// NaNs need not have the same payload; everything else is equal bit by bit.
template <class T>
void expect_same(const Bytes& got, const Bytes& want) {
  for (std::size_t at = 0; at + sizeof(T) <= want.size(); at += sizeof(T)) {
    if (std::memcmp(got.data() + at, want.data() + at, sizeof(T)) == 0) continue;
    if constexpr (!std::integral<T>)
      if (is_nan<T>(got.data() + at) && is_nan<T>(want.data() + at)) continue;
    FAIL() << "byte " << at << " of " << want.size();
  }
}

void expect_same(Element element, const Bytes& got, const Bytes& want) {
  switch (element) {
    case Element::bf16: return expect_same<BFloat16>(got, want);
    case Element::f16: return expect_same<Float16>(got, want);
    case Element::f32:
    case Element::c64: return expect_same<float>(got, want);
    case Element::f64:
    case Element::c128: return expect_same<double>(got, want);
    default: return expect_same<std::uint8_t>(got, want);
  }
}

struct Alias {
  const char* label;
  bool left;
  bool right;
};

TEST(Reduction, VectorsGiveWhatPlainCodeGivesForEveryKindElementLengthAndOverlap) {
  for (const Element element : kElements)
    for (const ReductionKind kind : kKinds) {
      const ReduceKernel plain = scalar::kernel(kind, element);
      if (plain == nullptr) continue;
      for (const std::size_t count : {0, 1, 2, 3, 7, 16, 31, 64, 65, 100, 257, 1000})
        for (const Alias alias :
             {Alias{"apart", false, false}, {"into a", true, false}, {"into b", false, true}}) {
          SCOPED_TRACE(testing::Message() << name(kind) << " of " << count << " " << name(element)
                                          << " " << alias.label);
          const std::size_t bytes = count * item_size(element);
          // One byte too many at the front, so that nothing is aligned.
          const Bytes a = random_bytes(bytes + 1, count);
          const Bytes b = random_bytes(bytes + 1, count + 1);
          Bytes want(bytes + 1);
          plain(want.data() + 1, a.data() + 1, b.data() + 1, count);
          Bytes left = a;
          Bytes right = b;
          Bytes apart(bytes + 1);
          Bytes& into = alias.left ? left : alias.right ? right : apart;
          reduce_kernel(kind, element)(into.data() + 1, left.data() + 1, right.data() + 1, count);
          into[0] = want[0];
          const Bytes got(into.begin() + 1, into.end());
          want.erase(want.begin());
          expect_same(element, got, want);
        }
    }
}

template <class T>
T one(ReductionKind kind, T a, T b) {
  T result;
  reduce(kind, element_of<T>(), reinterpret_cast<std::byte*>(&result),
         reinterpret_cast<const std::byte*>(&a), reinterpret_cast<const std::byte*>(&b), 1);
  return result;
}

TEST(Reduction, IntegersWrapAround) {
  EXPECT_EQ(one<std::int8_t>(ReductionKind::sum, 127, 1), -128);
  EXPECT_EQ(one<std::int32_t>(ReductionKind::sum, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(one<std::uint16_t>(ReductionKind::prod, 65535, 65535), 1);
  EXPECT_EQ(one<std::int64_t>(ReductionKind::prod, INT64_MAX, 2), -2);
}

TEST(Reduction, MinAndMaxPropagateNaNFromBothSides) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ReductionKind kind : {ReductionKind::min, ReductionKind::max}) {
    EXPECT_TRUE(std::isnan(one<float>(kind, nan, 1)));
    EXPECT_TRUE(std::isnan(one<float>(kind, 1, nan)));
    EXPECT_TRUE(std::isnan(to_float(one(kind, to_float16(nan), to_float16(1)))));
  }
  EXPECT_EQ(one<float>(ReductionKind::min, 1, 2), 1);
  EXPECT_EQ(one<double>(ReductionKind::max, 1, 2), 2);
}

TEST(Reduction, ComplexNumbersMultiply) {
  const std::complex<double> product =
      one<std::complex<double>>(ReductionKind::prod, {1, 2}, {3, 4});
  EXPECT_EQ(product, (std::complex<double>{-5, 10}));
}

TEST(Reduction, MeanIsTheSumDivided) {
  for (const Element element : {Element::bf16, Element::f16, Element::f32, Element::f64}) {
    SCOPED_TRACE(name(element));
    check("allreduce", ReductionKind::mean, element);
  }
  std::vector<float> halves = {3, 6, 1.5F};
  divide(Element::f32, reinterpret_cast<std::byte*>(halves.data()), 3, 3);
  EXPECT_EQ(halves, (std::vector<float>{1, 2, 0.5F}));
  std::vector<std::complex<double>> complex = {{3, 6}};
  divide(Element::c128, reinterpret_cast<std::byte*>(complex.data()), 1, 3);
  EXPECT_EQ(complex[0], (std::complex<double>{1, 2}));
}

TEST(Reduction, SeveralSourcesAreCombinedInOrder) {
  // Digits appended: neither commutative nor confused with another order.
  const Reduction append = Reduction::of(
      [](std::byte* into, const std::byte* from, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          std::uint32_t a;
          std::uint32_t b;
          std::memcpy(&a, into + 4 * i, 4);
          std::memcpy(&b, from + 4 * i, 4);
          a = a * 10 + b;
          std::memcpy(into + 4 * i, &a, 4);
        }
      },
      false);
  for (int target = 0; target < 4; ++target) {
    std::vector<std::vector<std::uint32_t>> digits;
    for (std::uint32_t i = 1; i <= 4; ++i) digits.emplace_back(3000, i);
    std::vector<const std::byte*> sources;
    for (const auto& source : digits)
      sources.push_back(reinterpret_cast<const std::byte*>(source.data()));
    auto* const into =
        reinterpret_cast<std::byte*>(digits[static_cast<std::size_t>(target)].data());
    reduce(append, Element::u32, into, sources, 3000);
    EXPECT_THAT(digits[static_cast<std::size_t>(target)], testing::Each(1234u)) << target;
  }
}

TEST(Reduction, AUserFunctionMayReduceOntoItsRightSide) {
  const Reduction minus =
      Reduction::of([](std::byte* into, const std::byte* from, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
          into[i] = static_cast<std::byte>(static_cast<int>(into[i]) - static_cast<int>(from[i]));
      });
  const Bytes a(10'000, std::byte{9});
  Bytes b(10'000, std::byte{4});
  reduce(minus, Element::u8, b.data(), a.data(), b.data(), b.size());
  EXPECT_THAT(b, testing::Each(std::byte{5}));
}

void expect_refused(const Reduction& reduction, Element element, const std::string& text) {
  try {
    check("allreduce", reduction, element);
    FAIL() << "no error for " << name(element);
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
  }
}

TEST(Reduction, RefusesWhatElementsDoNotHaveAndNamesThem) {
  expect_refused(ReductionKind::mean, Element::i32, "[allreduce] mean is not defined for int32");
  expect_refused(ReductionKind::max, Element::c64, "max is not defined for complex64");
  expect_refused(ReductionKind::bxor, Element::f32, "bxor is not defined for float32");
  expect_refused(ReductionKind::user, Element::f32, "has no function");
}

TEST(Reduction, HalvesRoundToTheNearestEven) {
  EXPECT_EQ(to_bfloat16(1.0F).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(std::bit_cast<float>(0x3f80'8000u)).bits, 0x3f80);  // a tie
  EXPECT_EQ(to_bfloat16(std::bit_cast<float>(0x3f81'8000u)).bits, 0x3f82);
  EXPECT_EQ(to_float16(65504.0F).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0F).bits, 0x7c00);    // rounds up to infinity
  EXPECT_EQ(to_float16(0x1p-24F).bits, 0x0001);    // the smallest
  EXPECT_EQ(to_float16(0x1p-25F).bits, 0x0000);    // a tie
  EXPECT_EQ(to_float16(0x1.8p-24F).bits, 0x0002);  // a tie upwards
  EXPECT_EQ(to_float16(-2.0F).bits, 0xc000);
}

TEST(Reduction, EveryHalfSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 half{static_cast<std::uint16_t>(bits)};
    const BFloat16 brain{static_cast<std::uint16_t>(bits)};
    EXPECT_TRUE(std::isnan(to_float(half)) || to_float16(to_float(half)).bits == bits) << bits;
    EXPECT_TRUE(std::isnan(to_float(brain)) || to_bfloat16(to_float(brain)).bits == bits) << bits;
  }
}

TEST(Reduction, TakesAFunctionOfTwoItems) {
  const Reduction hypotenuse =
      Reduction::of<float>([](float a, float b) { return std::sqrt(a * a + b * b); });
  const std::array<float, 2> a{3, 5};
  const std::array<float, 2> b{4, 12};
  std::array<float, 2> into{};
  reduce(hypotenuse, Element::f32, reinterpret_cast<std::byte*>(into.data()),
         reinterpret_cast<const std::byte*>(a.data()), reinterpret_cast<const std::byte*>(b.data()),
         2);
  EXPECT_EQ(into, (std::array<float, 2>{5, 13}));
  EXPECT_NO_THROW(check("allreduce", hypotenuse, Element::f32));
  EXPECT_THROW(check("allreduce", hypotenuse, Element::f64), std::invalid_argument);
}

}  // namespace
}  // namespace muster::comm::collective
