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
    return check_alike("g", roster);
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

TEST(Roster, RefusesPlanesOfWhichOneSharesMemoryAndAnotherDoesNot) {
  const auto planes = [](Plane first, Plane second, const std::string& host) {
    Roster roster;
    roster.members = {"a", "b"};
    roster.hellos = {hello(2, 0, "x"), hello(2, 1, host)};
    roster.hellos[0].plane = first;
    roster.hellos[1].plane = second;
    return check_alike("g", roster);
  };
  EXPECT_TRUE(planes(Plane::shared, Plane::automatic, "x"));
  EXPECT_TRUE(planes(Plane::network, Plane::automatic, "y"));
  const auto differ = planes(Plane::shared, Plane::network, "x");
  ASSERT_FALSE(differ);
  EXPECT_TRUE(differ.error().is(Errc::mismatch));
  EXPECT_THAT(differ.error().message(), HasSubstr("rank 1 'network', rank 0 'shared'"));
  EXPECT_THAT(planes(Plane::automatic, Plane::network, "x").error().message(),
              HasSubstr("rank 1 'network', rank 0 'automatic'"));
}

TEST(Roster, RefusesSizesThatDifferUnlessOneMayWaitForTheOtherToGrow) {
  const auto wrong = check_sizes("g", {{"a", hello(2, 0)}, {"b", hello(3, 1)}});
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().is(Errc::mismatch));
  EXPECT_THAT(wrong.error().message(),
              HasSubstr("'a' expects that group 'g' has 2 ranks, and 'b', which wants rank 1, "
                        "expects 3"));
  EXPECT_TRUE(check_sizes("g", {{"a", hello(2, 0)}, {"b", hello(3, 2)}}));
  EXPECT_TRUE(check_sizes("g", {{"a", hello(2, 0)}, {"b", hello(3)}}));
  Hello grows = hello(3, 0);
  grows.epoch = 1;
  EXPECT_TRUE(check_sizes("g", {{"a", grows}, {"b", hello(2, 1)}}));
}

TEST(Roster, SaysWhichRanksAreMissingAndWhoExpectsAnotherSize) {
  EXPECT_EQ(describe_missing(4, {{"a", hello(4, 0)}, {"b", hello(4, 2)}}, "in time"),
            "only 2 of 4 ranks came in time: rank 1, 3 missing");
  EXPECT_EQ(describe_missing(2, {{"a", hello(2)}, {"b", hello(3)}}, "in time"),
            "only 1 of 2 ranks came in time; 'b' expects 3");
  EXPECT_EQ(describe_missing(2, {{"a", hello(2)}, {"b", hello(2)}}, "so far"),
            "all 2 ranks came, but did not agree so far");
}

TEST(Roster, WithoutASizeHasThoseThatAreThereWhenEachHasWhatItNeeds) {
  const auto member = [](std::string type, std::map<std::string, int> needs) {
    Hello result = hello(0);
    result.type = std::move(type);
    result.needs = std::move(needs);
    return result;
  };
  Hellos hellos{{"a", member("actor", {{"learner", 1}})}, {"b", member("actor", {{"learner", 1}})}};
  const auto without_learner = make_roster("g", 0, hellos);
  ASSERT_TRUE(without_learner);
  EXPECT_FALSE(*without_learner);
  hellos["l"] = member("learner", {{"actor", 3}});
  const auto with_two_actors = make_roster("g", 0, hellos);
  ASSERT_TRUE(with_two_actors);
  EXPECT_FALSE(*with_two_actors);
  EXPECT_EQ(describe_missing(0, hellos, "in time"),
            "not all ranks came in time; 'a' needs 1 'learner'; 'b' needs 1 'learner'; 'l' needs 3 "
            "'actor'");
  hellos["c"] = member("actor", {{"actor", 2}});
  const auto whole = make_roster("g", 0, hellos);
  ASSERT_TRUE(whole && *whole);
  EXPECT_THAT((*whole)->members, ElementsAre("a", "b", "c", "l"));
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
