#include "muster/cli/suggest.h"

#include <array>
#include <string_view>

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"version", "worker", "web"};

TEST(Suggest, FindsTheNameWithOneLetterMissing) { EXPECT_EQ(suggest("verson", kNames), "version"); }

TEST(Suggest, PrefersTheNearestName) { EXPECT_EQ(suggest("worer", kNames), "worker"); }

TEST(Suggest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(suggest("scheduler", kNames), std::nullopt);
}

TEST(Suggest, StaysSilentWithoutNames) { EXPECT_EQ(suggest("version", {}), std::nullopt); }

}  // namespace
}  // namespace muster::cli
