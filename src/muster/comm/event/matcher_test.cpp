#include "muster/comm/event/matcher.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Tokens = std::vector<std::uint64_t>;

/// A matcher whose peers are set by hand; peers are called like their type and a number: w1, w2,
/// x1.
class EventMatcherTest : public testing::Test {
 protected:
  EventMatcherTest() { set_peers({{"*", 3}, {"w", 3}}); }

  void set_peers(std::map<std::string, std::size_t> counts) {
    counts_ = std::move(counts);
    matcher_.recheck();
  }

  std::size_t push(std::uint64_t token, const std::string& source, const std::string& tag) {
    return matcher_.push(token, source, source.substr(0, source.size() - 1), tag).value();
  }

  /// The tokens of each firing, whichever event it was.
  std::vector<Tokens> fired() {
    std::vector<Tokens> all;
    for (Firing& firing : matcher_.take_fired()) all.push_back(std::move(firing.tokens));
    return all;
  }

  std::map<std::string, std::size_t> counts_;
  EventMatcher matcher_{[this](std::string_view source) {
    const auto found = counts_.find(std::string(source));
    return found == counts_.end() ? 0 : found->second;
  }};
};

TEST_F(EventMatcherTest, FiresWhenTheCountIsReached) {
  const EventId id = matcher_.add("w:t:2");
  push(1, "w1", "t");
  EXPECT_THAT(matcher_.take_fired(), IsEmpty());
  push(2, "w2", "t");
  const auto firings = matcher_.take_fired();
  ASSERT_EQ(firings.size(), 1u);
  EXPECT_EQ(firings[0].event, id);
  EXPECT_THAT(firings[0].tokens, ElementsAre(1, 2));
  EXPECT_EQ(matcher_.waiting(), 0u);
}

TEST_F(EventMatcherTest, MatchesATypeAPeerNameOrAnything) {
  matcher_.add("w:t:1");
  matcher_.add("w2:t:1");
  matcher_.add("*:t:1");
  EXPECT_EQ(push(1, "w1", "t"), 2u);
  EXPECT_EQ(push(2, "w2", "t"), 3u);
  EXPECT_EQ(push(3, "x1", "t"), 1u);
}

TEST_F(EventMatcherTest, MatchesSourcesExactlyNotBySubstring) {
  matcher_.add("w:t:1");
  EXPECT_EQ(matcher_.push(1, "xw9", "xw", "t"), 0u);
  EXPECT_EQ(matcher_.push(2, "w_1", "ww", "t"), 0u);
  EXPECT_THAT(fired(), IsEmpty());
}

TEST_F(EventMatcherTest, MatchesTagsExactlyOrAll) {
  matcher_.add("w:t:1");
  matcher_.add("w:*:1");
  EXPECT_EQ(push(1, "w1", "tt"), 1u);
  EXPECT_EQ(push(2, "w1", "T"), 1u);
  EXPECT_EQ(push(3, "w1", "t"), 2u);
}

TEST_F(EventMatcherTest, TakesNamesOfPeersWithoutAsking) {
  matcher_.add("worker_01:update:2");
  EXPECT_EQ(matcher_.push(1, "worker_01", "worker", "update"), 1u);
  EXPECT_EQ(matcher_.push(2, "worker_02", "worker", "update"), 0u);
  EXPECT_EQ(matcher_.push(3, "worker_01", "worker", "update"), 1u);
  EXPECT_THAT(fired(), ElementsAre(Tokens{1, 3}));
}

TEST_F(EventMatcherTest, SeesAMessageOnceWhenNameAndTypeAreTheSame) {
  matcher_.add("solo:t:2");
  EXPECT_EQ(matcher_.push(1, "solo", "solo", "t"), 1u);
  EXPECT_THAT(fired(), IsEmpty());
}

TEST_F(EventMatcherTest, SeesAMessageOnceWhenItsTagIsTheWildcard) {
  matcher_.add("w:*:2");
  push(1, "w1", "*");
  EXPECT_THAT(fired(), IsEmpty());
  push(2, "w1", "*");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1, 2}));
}

TEST_F(EventMatcherTest, DoesNotClampACountToTheNumberOfPeers) {
  matcher_.add("w:t:10");
  for (std::uint64_t i = 1; i < 10; ++i) push(i, "w1", "t");
  EXPECT_THAT(fired(), IsEmpty());
  push(10, "w1", "t");
  EXPECT_EQ(fired().at(0).size(), 10u);
}

TEST_F(EventMatcherTest, CountsSeveralMessagesOfOnePeer) {
  matcher_.add("w:t:2");
  push(1, "w1", "t");
  push(2, "w1", "t");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1, 2}));
}

TEST_F(EventMatcherTest, RoundsAPercentageUp) {
  matcher_.add("w:t:34%");  // of 3: 1.02
  push(1, "w1", "t");
  EXPECT_THAT(fired(), IsEmpty());
  push(2, "w2", "t");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1, 2}));
}

TEST_F(EventMatcherTest, NeedsAtLeastOneMessageForASmallPercentage) {
  matcher_.add("w:t:1%");
  EXPECT_THAT(fired(), IsEmpty());
  push(1, "w1", "t");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1}));
}

TEST_F(EventMatcherTest, TakesAPercentageOfAllPeersForTheWildcard) {
  set_peers({{"*", 4}, {"w", 3}});
  matcher_.add("*:t:50%");
  push(1, "w1", "t");
  push(2, "x1", "t");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1, 2}));
}

TEST_F(EventMatcherTest, WaitsWhileNobodyMatchesAPercentage) {
  matcher_.add("x:t:100%");
  push(1, "x1", "t");
  EXPECT_THAT(fired(), IsEmpty());
  set_peers({{"x", 1}});
  EXPECT_THAT(fired(), ElementsAre(Tokens{1}));
}

TEST_F(EventMatcherTest, FollowsPeersThatJoin) {
  matcher_.add("w:t:100%");
  set_peers({{"w", 4}});
  for (std::uint64_t i = 1; i <= 3; ++i) push(i, "w1", "t");
  EXPECT_THAT(fired(), IsEmpty());
  push(4, "w4", "t");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1, 2, 3, 4}));
}

TEST_F(EventMatcherTest, FiresWithoutANewMessageWhenAPeerLeaves) {
  matcher_.add("w:t:100%");
  push(1, "w1", "t");
  push(2, "w2", "t");
  EXPECT_THAT(fired(), IsEmpty());
  set_peers({{"w", 2}});
  EXPECT_THAT(fired(), ElementsAre(Tokens{1, 2}));
}

TEST_F(EventMatcherTest, FiresSeveralTimesAtOnceWhenEnoughWaited) {
  matcher_.add("w:t:100%");
  for (std::uint64_t i = 1; i <= 2; ++i) push(i, "w1", "t");
  set_peers({{"w", 1}});
  EXPECT_THAT(fired(), ElementsAre(Tokens{1}, Tokens{2}));
}

TEST_F(EventMatcherTest, ShowsEveryMessageToEveryEvent) {
  matcher_.add("w:t:1");
  matcher_.add("w:t:2");
  push(1, "w1", "t");
  push(2, "w1", "t");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1}, Tokens{2}, Tokens{1, 2}));
}

TEST_F(EventMatcherTest, FiresInTheOrderOfRegistration) {
  const EventId wildcard = matcher_.add("*:*:1");
  const EventId exact = matcher_.add("w:t:1");
  push(1, "w1", "t");
  const auto firings = matcher_.take_fired();
  ASSERT_EQ(firings.size(), 2u);
  EXPECT_EQ(firings[0].event, wildcard);
  EXPECT_EQ(firings[1].event, exact);
}

TEST_F(EventMatcherTest, LetsAMessageServeEachUnitThatItMatches) {
  matcher_.add(event::all_of("w:t:1", "w1:*:1", "*:t:1"));
  push(1, "w1", "t");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1}));
  EXPECT_EQ(matcher_.waiting(), 0u);
}

TEST_F(EventMatcherTest, SharesTheQueueOfIdenticalUnits) {
  matcher_.add(event::all_of("w:t:2", "w:t:2", "w:t:1"));
  push(1, "w1", "t");
  push(2, "w1", "t");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1, 2}));
}

TEST_F(EventMatcherTest, TakesForAndExactlyWhatItNeedsAndKeepsTheRestInOrder) {
  matcher_.add(event::all_of("w:a:2", "w:b:1"));
  for (std::uint64_t i = 1; i <= 5; ++i) push(i, "w1", "a");
  push(6, "w1", "b");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1, 2, 6}));
  push(7, "w1", "b");
  EXPECT_THAT(fired(), ElementsAre(Tokens{3, 4, 7}));
  push(8, "w1", "b");
  EXPECT_THAT(fired(), IsEmpty());
  EXPECT_EQ(matcher_.waiting(), 2u);
}

TEST_F(EventMatcherTest, TakesForOrOnlyTheFirstSatisfiedBranch) {
  matcher_.add(
      event::any_of("w:z:1", event::all_of("w:a:1", "w:c:1"), event::all_of("w:b:1", "w:c:1")));
  push(1, "w1", "b");
  push(2, "w1", "a");
  push(3, "w1", "c");  // satisfies the second and the third branch
  EXPECT_THAT(fired(), ElementsAre(Tokens{2, 3}));
  push(4, "w1", "c");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1, 4}));
}

TEST_F(EventMatcherTest, NeverHandsOutAMessageTwiceForOneEvent) {
  matcher_.add(event::any_of("w1:t:1", "w:t:2"));
  push(1, "w1", "t");  // served the second branch too
  EXPECT_THAT(fired(), ElementsAre(Tokens{1}));
  push(2, "w2", "t");
  EXPECT_THAT(fired(), IsEmpty());
  push(3, "w2", "t");
  EXPECT_THAT(fired(), ElementsAre(Tokens{2, 3}));
}

TEST_F(EventMatcherTest, HandsOutMessagesInTheOrderOfArrivalNotOfUnits) {
  matcher_.add(event::all_of("w:a:1", "w:b:2"));
  push(30, "w1", "b");
  push(20, "w1", "b");
  push(10, "w1", "a");
  EXPECT_THAT(fired(), ElementsAre(Tokens{30, 20, 10}));
}

TEST_F(EventMatcherTest, NestsAtWill) {
  matcher_.add(event::all_of("w:a:1", event::any_of("w:b:1", event::all_of("w:c:1", "w:d:1"))));
  push(1, "w1", "c");
  push(2, "w1", "a");
  EXPECT_THAT(fired(), IsEmpty());
  push(3, "w1", "d");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1, 2, 3}));
}

TEST_F(EventMatcherTest, DoesNotKeepWhatNoEventAsksFor) {
  matcher_.add("w:t:2");
  EXPECT_EQ(push(1, "w1", "other"), 0u);
  EXPECT_EQ(matcher_.waiting(), 0u);
}

TEST_F(EventMatcherTest, ShowsAnEventOnlyWhatComesAfterIt) {
  matcher_.add("w:t:2");
  push(1, "w1", "t");
  matcher_.add("w:*:1");
  push(2, "w1", "t");
  EXPECT_THAT(fired(), ElementsAre(Tokens{1, 2}, Tokens{2}));
}

TEST_F(EventMatcherTest, ForgetsMessagesButNotEventsWhenCleared) {
  matcher_.add("w:t:2");
  matcher_.add("w:t:1");
  push(1, "w1", "t");
  matcher_.clear();
  EXPECT_EQ(matcher_.waiting(), 0u);
  EXPECT_THAT(fired(), IsEmpty());
  push(2, "w1", "t");
  push(3, "w1", "t");
  EXPECT_THAT(fired(), ElementsAre(Tokens{2}, Tokens{2, 3}, Tokens{3}));
}

TEST_F(EventMatcherTest, PassesOverManyMessagesThatAnotherBranchTook) {
  matcher_.add(event::any_of("w:t:1", "*:*:3"));
  for (std::uint64_t i = 1; i <= 1000; ++i) push(i, "w1", "t");
  EXPECT_EQ(fired().size(), 1000u);
  for (std::uint64_t i = 2001; i <= 2003; ++i) push(i, "x1", "t");
  EXPECT_THAT(fired(), ElementsAre(Tokens{2001, 2002, 2003}));
}

TEST(EventMatcher, RefusesMoreMessagesThanMayWaitAndNamesTheFullestEvent) {
  EventMatcher matcher([](std::string_view) { return 1; }, {.max_waiting = 4});
  matcher.add("a:t:10");
  matcher.add("*:*:10");
  ASSERT_TRUE(matcher.push(1, "b1", "b", "t").has_value());
  ASSERT_TRUE(matcher.push(2, "a1", "a", "t").has_value());
  const auto refused = matcher.push(3, "a1", "a", "t");
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(Errc::would_block));
  EXPECT_EQ(refused.error().message(),
            "3 messages wait for conditional events, and at most 4 may; most of them, 2, wait for "
            "event *:*:10");
  EXPECT_EQ(matcher.waiting(), 3u);
  EXPECT_EQ(matcher.push(4, "b1", "b", "t"), 1u);
}

TEST(EventMatcher, CountsWhatHasFiredUntilItIsTaken) {
  EventMatcher matcher([](std::string_view) { return 1; }, {.max_waiting = 2});
  matcher.add("a:t:1");
  ASSERT_TRUE(matcher.push(1, "a1", "a", "t").has_value());
  ASSERT_TRUE(matcher.push(2, "a1", "a", "t").has_value());
  EXPECT_FALSE(matcher.push(3, "a1", "a", "t").has_value());
  EXPECT_EQ(matcher.take_fired().size(), 2u);
  EXPECT_TRUE(matcher.push(3, "a1", "a", "t").has_value());
}

}  // namespace
}  // namespace muster::comm
