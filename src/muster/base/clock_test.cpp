#include "muster/base/clock.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr TimePoint kNow{hours(1000)};

TEST(Clock, TellsWhenATimeHasPassed) {
  EXPECT_EQ(after(kNow, seconds(3)), kNow + seconds(3));
  EXPECT_EQ(after(kNow, seconds(-3)), kNow - seconds(3));
  EXPECT_EQ(after(kNow, TimePoint::max() - kNow), TimePoint::max());
}

TEST(Clock, ALongTimeEndsNoSoonerThanAnyOther) {
  EXPECT_EQ(after(kNow, Duration::max()), TimePoint::max());
  EXPECT_EQ(after(kNow, Duration::max() - seconds(1)), TimePoint::max());
  EXPECT_EQ(after(TimePoint(), Duration::max()), TimePoint::max());
  EXPECT_EQ(after(TimePoint(-seconds(1)), Duration::max()), TimePoint::max() - seconds(1));
}

TEST(Clock, AWaitWithoutATimeoutIsNeverOver) {
  EXPECT_EQ(after_or_never(kNow, std::nullopt), TimePoint::max());
  EXPECT_EQ(after_or_never(kNow, seconds(3)), kNow + seconds(3));
}

}  // namespace
}  // namespace muster
