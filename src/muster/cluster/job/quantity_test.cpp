#include "muster/cluster/job/quantity.h"

#include <gtest/gtest.h>

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMebi = 1 << 20;

TEST(Size, ReadsThePredecessorsForms) {
  EXPECT_EQ(parse_size("2048m"), 2048 * kMebi);
  EXPECT_EQ(parse_size("4096M"), 4096 * kMebi);
}

TEST(Size, ReadsUnitsInAnySpelling) {
  for (const char* text : {"1g", "1G", "1Gi", "1GB", "1gib", "1 GiB", "1024m", "1048576k"}) {
    EXPECT_EQ(parse_size(text), 1024 * kMebi) << text;
  }
  EXPECT_EQ(parse_size("1.5k"), 1536u);
  EXPECT_EQ(parse_size("7b"), 7u);
}

TEST(Size, ANumberAloneIsInTheGivenUnit) {
  EXPECT_EQ(parse_size("100"), 100u);
  EXPECT_EQ(parse_size("100", kMebi), 100 * kMebi);
  EXPECT_EQ(parse_size("0"), 0u);
}

TEST(Size, RefusesWhatIsNone) {
  for (const char* text : {"", "m", "-1m", "+1", "1x", "1mm", "1 m b", "nan", "inf", "1e9", "0x10",
                           "2048p", "99999999999999999999", "1ib", "1i b"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(Time, ReadsUnitsAlsoInARow) {
  EXPECT_EQ(parse_time("90"), milliseconds(90'000));
  EXPECT_EQ(parse_time("1.5s"), milliseconds(1500));
  EXPECT_EQ(parse_time("250ms"), milliseconds(250));
  EXPECT_EQ(parse_time("1h30m"), milliseconds(5'400'000));
  EXPECT_EQ(parse_time("1d"), milliseconds(86'400'000));
}

TEST(Time, RefusesWhatIsNone) {
  for (const char* text : {"", "s", "-1s", "5 m", "1h30", "1y", "100000d", "1m m", "nan"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

TEST(Cpu, ReadsCoresAndThousandths) {
  EXPECT_EQ(parse_cpu("2"), 2000u);
  EXPECT_EQ(parse_cpu("0.5"), 500u);
  EXPECT_EQ(parse_cpu("500m"), 500u);
  EXPECT_EQ(parse_cpu("two"), std::nullopt);
  EXPECT_EQ(parse_cpu("-1"), std::nullopt);
}

TEST(QuantityText, ShowsTheLargestFittingUnit) {
  EXPECT_EQ(size_text(100), "100 B");
  EXPECT_EQ(size_text(10 * kMebi), "10 MiB");
  EXPECT_EQ(size_text(1536 * kMebi), "1.5 GiB");
  EXPECT_EQ(time_text(milliseconds(250)), "250ms");
  EXPECT_EQ(time_text(milliseconds(90'000)), "90s");
  EXPECT_EQ(time_text(milliseconds(7'200'000)), "2h");
}

}  // namespace
}  // namespace muster::cluster
