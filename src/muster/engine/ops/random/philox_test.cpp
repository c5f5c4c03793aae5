#include "muster/engine/ops/random/philox.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "muster/engine/ops/random/batch.h"

namespace muster::engine::random {
namespace {

using Counter = std::array<std::uint32_t, 4>;

// The known answers that come with Random123.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff),
            (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Batch, GivesThePlainWords) {
  constexpr std::uint64_t kKey = 0x0123456789abcdef;
  constexpr std::uint64_t kFirst = 0x1'ffff'fff1;  // odd, and a carry into the high half is near
  std::vector<std::uint64_t> got(77);
  words(kKey, kFirst, got.size(), 5, got.data());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::uint64_t element = kFirst + i;
    const Counter bits = philox({static_cast<std::uint32_t>(element / 2),
                                 static_cast<std::uint32_t>(element / 2 >> 32), 5, 0},
                                kKey);
    const std::size_t half = element % 2 * 2;
    EXPECT_EQ(got[i], bits[half] | std::uint64_t{bits[half + 1]} << 32) << i;
  }
}

TEST(Batch, GivesAnElementTheSameNumberInEveryRun) {
  std::vector<double> whole(1000);
  std::vector<double> part(1000);
  const auto same = [&](auto&& make) {
    make(0, whole.size(), whole.data());
    for (const std::size_t first : {1u, 2u, 7u, 500u, 999u})
      for (std::size_t count = 0; first + count <= whole.size(); count += 1 + count) {
        make(first, count, part.data());
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(part[i], whole[first + i]);
      }
  };
  same([](auto first, auto count, double* out) { uniforms(7, first, count, -1, 2, out); });
  same([](auto first, auto count, double* out) { normals(7, first, count, out); });
  same([](auto first, auto count, double* out) { exponentials(7, first, count, out); });
}

TEST(Batch, StaysInItsRange) {
  std::vector<double> numbers(100'000);
  uniforms(1, 0, numbers.size(), 0, 1, numbers.data());
  double sum = 0;
  for (const double number : numbers) {
    ASSERT_TRUE(number >= 0 && number < 1);
    sum += number;
  }
  EXPECT_NEAR(sum / 1e5, 0.5, 0.005);
  normals(1, 0, numbers.size(), numbers.data());
  for (const double number : numbers) ASSERT_TRUE(std::isfinite(number));
}

}  // namespace
}  // namespace muster::engine::random
