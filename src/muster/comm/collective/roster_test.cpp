#include "muster/comm/collective/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"

namespace muster::comm::collective {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Hello hello(int size, int rank = -1, std::string host = "a") {
  Hello result;
  result.size = size;
  result.rank = rank;
  result.host = std::move(host);
  return result;
}

TEST(Roster, WaitsForAll) {
  const auto roster = make_roster("g", 2, {{"a", hello(2)}});
  ASSERT_TRUE(roster);
  EXPECT_FALSE(*roster);
}

TEST(Roster, GivesOutRanksByNameAroundThoseThatWereAskedFor) {
  const auto roster = make_roster("g", 3, {{"a", hello(3)}, {"b", hello(3, 0)}, {"c", hello(3)}});
  ASSERT_TRUE(roster && *roster);
  EXPECT_THAT((*roster)->members, ElementsAre("b", "a", "c"));
}

TEST(Roster, RefusesTwoForOneRank) {
  const auto roster = make_roster("g", 3, {{"a", hello(3, 1)}, {"b", hello(3, 1)}});
  ASSERT_FALSE(roster);
  EXPECT_THAT(roster.error().message(), HasSubstr("'a' and 'b' both want rank 1"));
}

TEST(Roster, SaysWhoHasAnotherTable) {
  const auto tables = [](std::vector<std::uint64_t> digests) {
    Roster roster;
    for (const std::uint64_t digest : digests) roster.hellos.emplace_back().table = digest;
    return check_tables("g", roster);
  };
  EXPECT_TRUE(tables({7, 7, 7}));
  EXPECT_THAT(tables({7, 7, 8}).error().message(), HasSubstr("rank 2 of group 'g'"));
  EXPECT_THAT(tables({7, 8, 8}).error().message(), HasSubstr("rank 0 of group 'g'"));
  EXPECT_THAT(tables({7, 8}).error().message(), HasSubstr("than rank 0"));
}

TEST(Roster, RefusesMoreThanItHasRanks) {
  const auto roster = make_roster("g", 1, {{"a", hello(1)}, {"b", hello(1)}});
  ASSERT_FALSE(roster);
  EXPECT_TRUE(roster.error().is(Errc::group_full));
}

TEST(Roster, DoesNotCountThoseWhoExpectAnotherSize) {
  const auto roster = make_roster("g", 1, {{"a", hello(1)}, {"b", hello(2)}});
  ASSERT_TRUE(roster && *roster);
  EXPECT_THAT((*roster)->members, ElementsAre("a"));
}

TEST(Roster, NumbersHosts) {
  const auto roster = make_roster(
      "g", 3, {{"a", hello(3, 0, "x")}, {"b", hello(3, 1, "y")}, {"c", hello(3, 2, "x")}});
  ASSERT_TRUE(roster && *roster);
  EXPECT_THAT((*roster)->hosts(), ElementsAre(0, 1, 0));
  EXPECT_FALSE((*roster)->on_one_host());
}

}  // namespace
}  // namespace muster::comm::collective
