#include "muster/comm/collective/group.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "muster/comm/proxy/proxy.h"
#include "tests/integration/collective/ranks.h"
#include "tests/support/seed.h"

namespace muster::comm {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class GroupOn : public OnPlanes {};

TEST_P(GroupOn, KnowsItsRanks) {
  as_threads(3, [&](int rank) {
    const Group group = join_or_throw(options(3, rank));
    EXPECT_EQ(group.rank(), rank);
    EXPECT_EQ(group.size(), 3);
    EXPECT_EQ(group.epoch(), 1u);
    EXPECT_EQ(group.plane(), GetParam().plane);
  });
}

TEST_P(GroupOn, ReducesGathersAndBroadcasts) {
  as_threads(3, [&](int rank) {
    Group group = join_or_throw(options(3, rank));
    std::vector<float> values(1000, static_cast<float>(rank + 1));
    require(group.allreduce(values));
    EXPECT_THAT(values, Each(6.0F));
    std::vector<int> all(3);
    require(group.allgather(std::vector<int>{rank * 10}, all));
    EXPECT_THAT(all, ElementsAre(0, 10, 20));
    std::vector<double> data(5, rank == 1 ? 2.5 : 0.0);
    require(group.broadcast(data, 1));
    EXPECT_THAT(data, Each(2.5));
    require(group.barrier());
  });
}

TEST_P(GroupOn, SendsAndReceivesByTag) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    std::vector<int> one{1, 2, 3};
    std::vector<int> two{4, 5};
    if (rank == 0) {
      require(group.send(1, one, {.tag = 7}));
      require(group.send(1, two, {.tag = 8}));
    } else {
      std::vector<int> first(3);
      std::vector<int> second(2);
      require(group.recv(0, second, {.tag = 8}));
      require(group.recv(0, first, {.tag = 7}));
      EXPECT_EQ(first, one);
      EXPECT_EQ(second, two);
    }
    require(group.barrier());
  });
}

TEST_P(GroupOn, CarriesOutSeveralCallsAtOnce) {
  as_threads(3, [&](int rank) {
    Group group = join_or_throw(options(3, rank));
    std::vector<std::vector<int>> data(40, std::vector<int>(500, rank));
    std::vector<Handle> handles;
    for (std::size_t i = 0; i < data.size(); ++i) {
      auto handle = group.iallreduce(data[i], {}, {.tag = static_cast<int>(i % 20)});
      ASSERT_TRUE(handle) << handle.error().message();
      handles.push_back(*std::move(handle));
    }
    for (auto it = handles.rbegin(); it != handles.rend(); ++it) require(it->wait());
    for (const auto& one : data) EXPECT_THAT(one, Each(3));
  });
}

TEST_P(GroupOn, SplitsByColor) {
  as_threads(4, [&](int rank) {
    Group group = join_or_throw(options(4, rank));
    auto half = group.split(rank % 2, -rank);
    ASSERT_TRUE(half) << half.error().message();
    EXPECT_EQ(half->size(), 2);
    EXPECT_EQ(half->rank(), rank < 2 ? 1 : 0);
    std::vector<int> sum{rank};
    require(half->allreduce(sum));
    EXPECT_EQ(sum[0], rank % 2 == 0 ? 2 : 4);
    require(group.barrier());
  });
}

TEST_P(GroupOn, ARankWithoutAColorGetsAGroupOfItsOwn) {
  as_threads(4, [&](int rank) {
    Group group = join_or_throw(options(4, rank));
    // Two of them, and with different ones: they are not a group together.
    auto part = group.split(rank < 2 ? -1 - rank : 5);
    ASSERT_TRUE(part) << part.error().message();
    EXPECT_EQ(part->size(), rank < 2 ? 1 : 2);
    EXPECT_EQ(part->rank(), rank == 3 ? 1 : 0);
    std::vector<int> sum{rank};
    require(part->allreduce(sum, {}, {.timeout = std::chrono::seconds(30)}));
    EXPECT_EQ(sum[0], rank < 2 ? rank : 5);
    auto same = group.split(rank < 2 ? -1 : 5);
    ASSERT_TRUE(same) << same.error().message();
    EXPECT_EQ(same->size(), rank < 2 ? 1 : 2);
    require(group.barrier({.timeout = std::chrono::seconds(30)}));
  });
}

TEST_P(GroupOn, SaysWhoCallsSomethingElse) {
  as_threads(3, [&](int rank) {
    Group group = join_or_throw(options(3, rank));
    std::vector<float> values(rank == 2 ? 5 : 4);
    const auto result = group.allreduce(values);
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is(Errc::mismatch)) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr("rank 2"));
    EXPECT_FALSE(group.barrier());
    EXPECT_FALSE(group.agree(1).value().ranks.empty());
    auto shrunk = group.shrink();
    ASSERT_TRUE(shrunk) << shrunk.error().message();
    EXPECT_EQ(shrunk->group.size(), 3);
    require(shrunk->group.barrier());
  });
}

TEST_P(GroupOn, TwoRanksThatBothWaitForTheOthersBroadcastFindOut) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    std::vector<int> value(1);
    const auto result = group.broadcast(value, 1 - rank);
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is(Errc::mismatch)) << result.error().message();
  });
}

TEST_P(GroupOn, TwoRanksThatBothTakeThemselvesForTheRootFindOutAtTheNextCall) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    std::vector<int> value(1);
    require(group.broadcast(value, rank));
    const auto result = group.allreduce(value);
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is(Errc::mismatch)) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr("before this allreduce of 1 int32 by sum"));
    EXPECT_THAT(result.error().message(), HasSubstr("different roots"));
  });
}

TEST_P(GroupOn, GivesUpAfterTheTimeoutAndTellsTheOthers) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    if (rank == 0) {
      const auto result = group.barrier({.timeout = std::chrono::milliseconds(50)});
      ASSERT_FALSE(result);
      EXPECT_TRUE(result.error().is(Errc::timeout)) << result.error().message();
      EXPECT_THAT(result.error().message(), HasSubstr("barrier"));
      EXPECT_FALSE(group.barrier());
      static_cast<void>(group.agree(1));
    } else {
      static_cast<void>(group.agree(1));
      std::vector<int> value(1);
      const auto result = group.allreduce(value);
      ASSERT_FALSE(result);
      EXPECT_TRUE(result.error().is(Errc::cancelled)) << result.error().message();
    }
  });
}

TEST_P(GroupOn, BriefAndLongBroadcastsFollowEachOtherFromAnyRoot) {
  as_threads(3, [&](int rank) {
    Group group = join_or_throw(options(3, rank));
    for (int i = 0; i < 400; ++i) {
      // Rows of brief ones, so that the root gets far ahead, and between them one that has steps.
      const std::size_t count = i % 37 == 36 ? 15'000 : i % 100 == 99 ? 500'000 : 2;
      const int root = i / 50 % 3;
      std::vector<int> values(count, rank == root ? i : -1);
      require(group.broadcast(values, root));
      ASSERT_EQ(values.front(), i);
      ASSERT_EQ(values.back(), i);
    }
  });
}

TEST_P(GroupOn, SmallRootedCallsOfAnySizeFollowEachOther) {
  constexpr int kRanks = 3;
  const std::uint64_t seed = test_seed();
  as_threads(kRanks, [&](int rank) {
    Group group = join_or_throw(options(kRanks, rank));
    std::mt19937_64 random(seed);  // the same on all ranks
    for (int i = 0; i < 400; ++i) {
      const std::size_t count = random() % 100;
      const int root = static_cast<int>(random() % kRanks);
      const bool takes = rank == root;
      std::vector<int> one(count, i + rank);
      std::vector<int> all(kRanks * count, takes ? i : -1);
      switch (random() % 5) {
        case 0:
          std::fill(one.begin(), one.end(), takes ? i : -1);
          require(group.broadcast(one, root));
          ASSERT_EQ(one, std::vector(count, i)) << i;
          break;
        case 1:
          require(group.scatter(all, one, root));
          ASSERT_EQ(one, std::vector(count, i)) << i;
          break;
        case 2:
          require(group.gather(one, all, root));
          for (std::size_t at = 0; takes && at < all.size(); ++at)
            ASSERT_EQ(all[at], i + static_cast<int>(at / count)) << i;
          break;
        case 3: {
          std::vector<int> sum(count, -1);
          require(group.reduce(one, sum, {}, root));
          ASSERT_EQ(sum, std::vector(count, takes ? 3 * i + 3 : -1)) << i;
          break;
        }
        default: require(group.allreduce(one)); ASSERT_EQ(one, std::vector(count, 3 * i + 3)) << i;
      }
    }
  });
}

TEST_P(GroupOn, RanksThatExpectDifferentSizesAreTold) {
  as_threads(2, [&](int rank) {
    const auto group = Group::join(options(2 + rank, rank));
    ASSERT_FALSE(group);
    EXPECT_TRUE(group.error().is(Errc::mismatch)) << group.error().message();
    EXPECT_THAT(group.error().message(), HasSubstr("expects 3"));
  });
}

TEST_P(GroupOn, GrowsByANewcomer) {
  as_threads(3, [&](int rank) {
    if (rank == 2) {
      GroupOptions late = options(3, 2);
      late.rank.reset();
      Group group = join_or_throw(std::move(late));
      EXPECT_EQ(group.rank(), 2);
      EXPECT_EQ(group.epoch(), 2u);
      require(group.barrier());
      return;
    }
    Group group = join_or_throw(options(2, rank));
    require(group.barrier());
    auto grown = group.grow(1);
    ASSERT_TRUE(grown) << grown.error().message();
    EXPECT_EQ(grown->size(), 3);
    EXPECT_EQ(grown->rank(), rank);
    require(grown->barrier());
  });
}

TEST_P(GroupOn, ARankThatLeavesAfterItsPartDoesNotDisturbTheOthers) {
  as_threads(3, [&](int rank) {
    Group group = join_or_throw(options(3, rank));
    std::vector<int> own{rank};
    std::vector<int> all(3);
    if (rank == 2) require(group.recv(0, own, {.tag = 3}));
    if (rank == 2) own = {2};
    require(group.gather(own, all, 1));
    if (rank == 1) {
      EXPECT_THAT(all, ElementsAre(0, 1, 2));
    }
    // Rank 0 is done and leaves; rank 2 has not given its part yet.
    if (rank == 0) require(group.send(2, own, {.tag = 3}));
  });
}

TEST_P(GroupOn, ACallThatNeedsARankThatLeftFails) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    require(group.barrier());
    if (rank == 0) return;
    const auto result = group.barrier();
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is(Errc::rank_lost)) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr("rank 0"));
    auto shrunk = group.shrink();
    ASSERT_TRUE(shrunk) << shrunk.error().message();
    EXPECT_EQ(shrunk->group.size(), 1);
    EXPECT_THAT(shrunk->lost, ElementsAre(0));
    EXPECT_EQ(shrunk->finished, 1u);
    require(shrunk->group.barrier());
  });
}

TEST_P(GroupOn, ShrinkSaysWhichCallsWereTheLastThatAllFinished) {
  std::promise<void> ahead;
  const std::shared_future<void> is_ahead = ahead.get_future().share();
  as_threads(3, [&](int rank) {
    std::optional<Group> group = join_or_throw(options(3, rank));
    std::vector<float> gradient(1000);
    std::vector<int> few(4);
    use_up_channels(*group);
    require(group->allreduce(gradient, ReductionKind::mean));
    for (int i = 0; i < 5; ++i) require(group->allreduce(few, {}, {.tag = 3}));
    require(group->reduce(few, few, ReductionKind::max, 2, {.tag = kTagWithoutChannel}));
    require(group->agree(1));
    // Rank 0 has finished more than the others.
    if (rank == 0) {
      require(group->broadcast(few, 0));
      require(group->broadcast(few, 0, {.tag = 4}));
      ahead.set_value();
    }
    ASSERT_EQ(is_ahead.wait_for(std::chrono::seconds(30)), std::future_status::ready);
    if (rank == 2) return group->close();
    const auto shrunk = group->shrink();
    ASSERT_TRUE(shrunk) << shrunk.error().message();
    EXPECT_EQ(shrunk->finished, 1u);
    EXPECT_EQ(shrunk->last, "allreduce of 1000 float32 by mean");
    const auto finished_with = [&](int tag) {
      const auto& [calls, last] = shrunk->by_tag.at(tag);
      return fmt::format("{} calls, the last: {}", calls, last);
    };
    EXPECT_EQ(finished_with(0), "1 calls, the last: allreduce of 1000 float32 by mean");
    EXPECT_EQ(finished_with(3), "6 calls, the last: allreduce of 4 int32 by sum");
    EXPECT_EQ(finished_with(4), "1 calls, the last: barrier");
    EXPECT_EQ(finished_with(kTagWithoutChannel),
              "1 calls, the last: reduce of 4 int32 by max to rank 2");
  });
}

TEST_P(GroupOn, ShrinkSaysThatNoCallWasFinishedByAll) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    require(group.agree(1));  // else UCX may still be connecting when one leaves
    if (rank == 0) return;
    const auto shrunk = group.shrink();
    ASSERT_TRUE(shrunk) << shrunk.error().message();
    EXPECT_EQ(shrunk->finished, 0u);
    EXPECT_EQ(shrunk->last, "");
    EXPECT_TRUE(shrunk->by_tag.empty());
  });
}

TEST_P(GroupOn, ACallThatNeedsARankThatLeftLongAgoFails) {
  std::promise<void> left;
  as_threads(2, [&](int rank) {
    std::optional<Group> group = join_or_throw(options(2, rank));
    require(group->barrier());
    if (rank == 0) {
      group.reset();
      return left.set_value();
    }
    left.get_future().wait();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (GetParam().plane == Plane::network && group->lost().empty() &&
           std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    const auto result = group->barrier({.timeout = std::chrono::seconds(20)});
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is(Errc::rank_lost)) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr("rank 0 left"));
  });
}

TEST_P(GroupOn, ThreadsWithTagsOfTheirOwnDoNotDisturbEachOther) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    auto other = group.split(0);
    ASSERT_TRUE(other) << other.error().message();
    as_threads(4, [&](int thread) {
      Group& mine = thread == 3 ? *other : group;
      for (int i = 0; i < 200; ++i) {
        std::vector<int> values(static_cast<std::size_t>(1 + i * 7), rank + thread);
        require(mine.allreduce(values, {}, {.tag = thread}));
        ASSERT_THAT(values, Each(1 + 2 * thread));
      }
    });
    require(group.barrier());
  });
}

TEST_P(GroupOn, MoreRanksThanCoresGoOn) {
  as_threads(4, [&](int rank) {
    Group group = join_or_throw(options(4, rank));
    std::vector<int> value(1);
    for (int i = 0; i < 500; ++i) {
      value[0] = rank;
      require(group.allreduce(value));
      ASSERT_EQ(value[0], 6);
    }
  });
}

TEST_P(GroupOn, ACallThatIsCancelledEndsForAll) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    std::vector<int> value(1);
    if (rank == 0) {
      auto handle = group.iallreduce(value);
      ASSERT_TRUE(handle);
      EXPECT_FALSE(handle->test().value());
      EXPECT_TRUE(handle->wait(std::chrono::milliseconds(10)).error().is(Errc::timeout));
      handle->cancel();
      EXPECT_TRUE(handle->wait().error().is(Errc::cancelled));
      static_cast<void>(group.agree(1));
    } else {
      static_cast<void>(group.agree(1));
      // The other rank may have given its part before it gave up.
      static_cast<void>(group.allreduce(value));
      EXPECT_TRUE(group.allreduce(value).error().is(Errc::cancelled));
    }
  });
}

TEST_P(GroupOn, AReceiveThatIsCancelledDoesNoHarm) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    std::vector<int> value(1);
    if (rank == 0) {
      auto handle = group.irecv(1, value, {.tag = 9});
      ASSERT_TRUE(handle);
      handle->cancel();
    }
    require(group.barrier());
  });
}

TEST_P(GroupOn, AFunctionThatThrowsOnOneRankFailsTheCallsOfAll) {
  as_threads(3, [&](int rank) {
    Group group = join_or_throw(options(3, rank));
    const auto function = [rank](std::byte*, const std::byte*, std::size_t) {
      if (rank == 1) throw std::runtime_error("nothing fits");
    };
    std::vector<double> values(50'000, 1.0);
    Result<void> result;
    while (result) result = group.allreduce(values, collective::Reduction::of(function));
    EXPECT_TRUE(result.error().is(Errc::function_failed)) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr("function of rank 1"));
    EXPECT_THAT(result.error().message(), HasSubstr(rank == 1 ? "failed: nothing fits" : "failed"));
    const auto next = group.barrier();
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().message(), result.error().message());
  });
}

TEST_P(GroupOn, AFunctionThatThrowsInTheBackgroundFailsItsHandle) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    std::vector<int> values(1000, rank);
    const auto function = [](std::byte*, const std::byte*, std::size_t) { throw 7; };
    auto handle = group.iallreduce(values, collective::Reduction::of(function));
    const auto result = handle ? handle->wait() : Result<void>(fail(handle.error()));
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is(Errc::function_failed)) << result.error().message();
  });
}

TEST(Group, IsMadeFromAProxyAndItsPeers) {
  const Meeting meeting;
  as_threads(3, [&](int rank) {
    ProxyOptions options;
    options.group = "party";
    options.type = rank == 0 ? "learner" : "actor";
    options.name = "member" + std::to_string(rank);
    options.expected_peers = rank == 0
                                 ? std::map<std::string, std::size_t>{{"actor", 2}}
                                 : std::map<std::string, std::size_t>{{"actor", 1}, {"learner", 1}};
    options.discovery = meeting.options(1, 0).discovery;
    auto proxy = Proxy::join(options);
    ASSERT_TRUE(proxy) << proxy.error().message();
    FromProxyOptions wanted;
    wanted.size = 3;
    auto group = Group::from(*proxy, wanted);
    ASSERT_TRUE(group) << group.error().message();
    EXPECT_EQ(group->rank(), rank);
    require(group->barrier());
  });
}

TEST(Group, IsMadeOfPeersOfSomeTypesOnly) {
  const Meeting meeting;
  std::promise<void> made;
  const auto over = made.get_future().share();
  std::atomic<int> left = 3;
  as_threads(4, [&](int member) {
    ProxyOptions options;
    options.group = "party";
    options.type = member == 0 ? "learner" : member == 3 ? "viewer" : "actor";
    options.name = "member" + std::to_string(member);
    options.expected_peers = {{"learner", 1}, {"actor", 2}, {"viewer", 1}};
    if (--options.expected_peers[options.type] == 0) options.expected_peers.erase(options.type);
    options.discovery = meeting.options(1, 0).discovery;
    auto proxy = Proxy::join(options);
    ASSERT_TRUE(proxy) << proxy.error().message();
    // Its proxy stays, so that it could be counted.
    if (member == 3) return static_cast<void>(over.wait_for(std::chrono::seconds(60)));
    FromProxyOptions wanted;
    wanted.types = {"learner", "actor"};
    wanted.join_timeout = std::chrono::seconds(40);
    auto group = Group::from(*proxy, wanted);
    if (--left == 0) made.set_value();
    ASSERT_TRUE(group) << group.error().message();
    EXPECT_EQ(group->size(), 3);
    EXPECT_THAT(group->members(), ElementsAre("member0", "member1", "member2"));
    require(group->barrier({.timeout = std::chrono::seconds(30)}));
  });
}

TEST(Group, OfOneNeedsNobody) {
  ::unsetenv("MUSTER_SIZE");
  ::unsetenv("MUSTER_RANK");
  auto group = Group::from_environment();
  ASSERT_TRUE(group);
  std::vector<int> value{5};
  std::vector<int> out(1);
  require(group->allreduce(value));
  require(group->allgather(value, out));
  require(group->barrier());
  EXPECT_THAT(out, ElementsAre(5));
  EXPECT_EQ(group->split(3)->size(), 1);
}

TEST(Group, OfOneRefusesCallsOnceItIsClosed) {
  ::unsetenv("MUSTER_SIZE");
  ::unsetenv("MUSTER_RANK");
  auto group = Group::from_environment();
  ASSERT_TRUE(group);
  group->close();
  group->close();
  std::vector<int> value{5};
  for (const auto& result : {group->barrier(), group->allreduce(value)}) {
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is(Errc::closed)) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr("is closed"));
  }
  EXPECT_FALSE(group->iallreduce(value));
  EXPECT_FALSE(group->split(3));
  EXPECT_FALSE(group->agree(1));
}

TEST(Group, SaysWhatIsWrongWithTheEnvironment) {
  ::setenv("MUSTER_SIZE", "two", 1);
  ::setenv("MUSTER_RANK", "0", 1);
  ::setenv("MUSTER_GROUP", "g", 1);
  auto group = Group::from_environment();
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().message(), HasSubstr("MUSTER_SIZE is 'two'"));
  for (const char* name : {"MUSTER_SIZE", "MUSTER_RANK", "MUSTER_GROUP"}) ::unsetenv(name);
}

TEST(Group, TakesWhatTheEnvironmentDoesNotSayFromItsOptions) {
  const Meeting meeting;
  ::setenv("MUSTER_SIZE", "1", 1);
  ::setenv("MUSTER_RANK", "0", 1);
  ::setenv("MUSTER_GROUP", "from the launcher", 1);
  GroupOptions options = meeting.options(7, 3);
  options.member = "somebody";
  auto group = Group::from_environment(options);
  for (const char* name : {"MUSTER_SIZE", "MUSTER_RANK", "MUSTER_GROUP"}) ::unsetenv(name);
  ASSERT_TRUE(group) << group.error().message();
  EXPECT_EQ(group->name(), "from the launcher");
  EXPECT_EQ(group->rank(), 0);
  EXPECT_THAT(group->members(), ElementsAre("somebody"));
}

TEST(Group, RefusesWrongUseBeforeAnythingIsSent) {
  auto group = Group::from_environment();
  ASSERT_TRUE(group);
  std::vector<int> none;
  std::vector<int> one(1);
  EXPECT_THROW(static_cast<void>(group->allgather(one, none)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(group->broadcast(one, 1)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(group->barrier({.tag = 256})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(group->allreduce(one, ReductionKind::mean)),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(group->send(0, one)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(Group::join({})), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Planes, GroupOn, kEveryPlane, testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
