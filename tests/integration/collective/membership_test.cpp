#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "tests/integration/collective/checked_calls.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/group_memory.h"
#include "tests/integration/collective/ranks.h"
#include "tests/integration/collective/survivor.h"
#include "tests/support/child.h"
#include "tests/support/seed.h"
#include "tests/support/shared_value.h"
#include "tests/support/soak.h"

// Ranks are killed while groups are made: in join, split, shrink and grow.

namespace muster::comm {
namespace {

using collective::Operation;
using std::chrono::seconds;

// Nothing takes so long that does not wait in vain.
constexpr seconds kInTime(15);

/// While it is on, the victim's steps count.
using Danger = std::atomic<bool>;
/// What one rank does.
using Part = std::function<void(GroupOptions options, Danger& danger)>;

void compute(Group& group) {
  const Form form{"staged", 12'000};
  CheckedCalls calls(group, Operation::allreduce, form);
  demand(calls.next(), "allreduce");
}

/// It says that a rank is lost, or that another rank could not go on because of that.
void check_says_lost(const Error& error) {
  const bool lost = error.is(Errc::rank_lost) || error.is(Errc::cancelled);
  demand(lost && error.message().find("lost") != std::string::npos,
         "another error: " + error.message());
}

/// Ranks that join wait for so short a time that it may be over on a busy machine: then they say
/// so, or leave.
bool is_too_late(const Error& error) {
  const std::string_view text = error.message();
  return error.is(Errc::discovery_incomplete) || text.find("in time") != text.npos ||
         text.find("left group") != text.npos;
}

class MembershipOn : public OnPlanes {
 protected:
  struct Scene {
    int size;
    std::vector<int> victims;  ///< one of these is killed
    Part part;
    int doomed = -1;    ///< ends itself before
    int onlooker = -1;  ///< is ended when all others have
  };

  /// One victim at one step, or, under scripts/soak, every one at all of them.
  void kill(const Scene& scene) const {
    std::mt19937_64 random(test_seed());
    if (!test::soaks()) {
      const int victim = scene.victims[random() % scene.victims.size()];
      int step = 1 + static_cast<int>(random() % 16);
      bool killed = false;
      // A busy machine may not even come to the first step each time.
      for (int attempt = 0; attempt < 8 && !killed; ++attempt, step = std::max(1, step / 2))
        killed = kill_at(scene, victim, step);
      EXPECT_TRUE(killed) << "rank " << victim << " has no steps";
      return;
    }
    for (const int victim : scene.victims) {
      int step = 1;
      while (kill_at(scene, victim, step) && !HasFailure()) ++step;
      fmt::print("rank {}: {} steps\n", victim, step - 1);
      EXPECT_GT(step, 1) << "it has no steps";
      if (HasFailure()) return;
    }
  }

 private:
  /// False when the victim has fewer steps.
  bool kill_at(const Scene& scene, int victim, int step) const {
    std::vector<std::unique_ptr<test::Child>> children;
    for (int rank = 0; rank < scene.size; ++rank)
      children.push_back(std::make_unique<test::Child>(
          [&, rank] { as_process([&] { run_rank(scene, rank, rank == victim ? step : 0); }); }));
    bool killed = false;
    for (int rank = 0; rank < scene.size; ++rank) {
      if (rank == scene.onlooker && rank != victim) continue;
      const int fate = children[static_cast<std::size_t>(rank)]->wait();
      if (rank == victim) killed = fate == -SIGKILL;
      const bool may_die = rank == victim || rank == scene.doomed;
      EXPECT_TRUE(fate == 0 || (may_die && fate == -SIGKILL))
          << "rank " << rank << " ends with " << fate << ", rank " << victim
          << " is killed at step " << step;
    }
    return killed;
  }

  void run_rank(const Scene& scene, int rank, int step) const {
    GroupOptions mine = options(scene.size, rank);
    const auto danger = std::make_shared<Danger>(false);
    if (step > 0)
      mine.at_step = [danger, left = std::make_shared<std::atomic<int>>(step)] {
        if (*danger && --*left == 0) ::raise(SIGKILL);
      };
    scene.part(std::move(mine), *danger);
  }
};

TEST_P(MembershipOn, AKillInJoinEndsTheJoinOfTheOthersOrTheirFirstCall) {
  const Part part = [](GroupOptions mine, Danger& danger) {
    mine.join_timeout = std::chrono::milliseconds(1500);
    danger = true;
    auto group = Group::join(mine);
    danger = false;
    const Result<void> first = group ? group->barrier() : fail(group.error());
    if (first) return end_with(*std::move(group));
    if (!is_too_late(first.error())) check_says_lost(first.error());
  };
  kill({.size = 3, .victims = {0, 2}, .part = part});
}

TEST_P(MembershipOn, AKillInSplitEndsItAndTheOthersGoOn) {
  const Part part = [](GroupOptions mine, Danger& danger) {
    Group group = join_or_throw(std::move(mine));
    static_cast<void>(group.barrier());
    danger = true;
    auto half = group.split(group.rank() % 2, 0, {.timeout = kInTime});
    danger = false;
    if (!half) check_says_lost(half.error());
    const auto result = group.barrier();
    if (result) {
      demand(half.has_value(), "only the split failed");
      compute(*half);
      half = fail(Errc::closed, "");
      return end_with(std::move(group));
    }
    check_says_lost(result.error());
    half = fail(Errc::closed, "");
    auto shrunk = demand(group.shrink(kInTime), "shrink");
    group = std::move(shrunk.group);
    demand(group.size() == 3, "the new group has another size");
    {
      auto again = demand(group.split(group.rank() % 2, 0, {.timeout = kInTime}), "split again");
      demand(again.size() == 2 - group.rank() % 2, "the half has another size");
      compute(again);
    }
    end_with(std::move(group));
  };
  kill({.size = 4, .victims = {0, 1, 3}, .part = part});
}

TEST_P(MembershipOn, AKillInShrinkIsASecondLoss) {
  const int first = 1;
  const Part part = [](GroupOptions mine, Danger& danger) {
    const int rank = *mine.rank;
    Group group = join_or_throw(std::move(mine));
    // All know of all before one is gone.
    demand(group.agree(1), "agree");
    if (rank == first) ::raise(SIGKILL);
    const auto result = group.barrier();
    demand(!result, "no call failed");
    check_loss(group, result.error(), {first});
    danger = true;
    auto shrunk = demand(group.shrink(kInTime), "shrink");
    danger = false;
    demand(shrunk.lost.size() == 4u - static_cast<std::size_t>(shrunk.group.size()),
           fmt::format("lost are {} of 4, left are {}", fmt::join(shrunk.lost, ", "),
                       shrunk.group.size()));
    demand(shrunk.lost.size() == 1 || shrunk.lost.size() == 2, "it has lost too many");
    group = std::move(shrunk.group);
    if (const auto next = group.barrier(); !next) {
      check_says_lost(next.error());
      auto again = demand(group.shrink(kInTime), "the second shrink");
      demand(again.finished == 0, "something was finished");
      group = std::move(again.group);
    }
    demand(group.size() == 2 || group.size() == 3, "the last group has another size");
    compute(group);
    end_with(std::move(group));
  };
  kill({.size = 4, .victims = {0, 2, 3}, .part = part, .doomed = first});
}

TEST_P(MembershipOn, AKillInGrowEndsIt) {
  constexpr int kNewcomer = 2;
  const Part part = [](GroupOptions mine, Danger& danger) {
    if (*mine.rank == kNewcomer) {
      // Where an old rank is gone, nothing comes of it.
      auto group = Group::join(std::move(mine));
      if (group && group->barrier()) end_with(*std::move(group));
      return;
    }
    mine.size = 2;
    Group group = join_or_throw(std::move(mine));
    static_cast<void>(group.barrier());
    danger = true;
    auto grown = group.grow(1, kInTime);
    danger = false;
    if (!grown) {
      check_says_lost(grown.error());
    } else if (const auto next = grown->barrier(); !next) {
      check_says_lost(next.error());
    } else {
      compute(group);
      group = *std::move(grown);
      return end_with(std::move(group));
    }
    grown = fail(Errc::closed, "");
    auto shrunk = demand(group.shrink(kInTime), "shrink");
    demand(shrunk.group.size() == 1, "the new group has another size");
    group = std::move(shrunk.group);
    end_with(std::move(group));
  };
  kill({.size = 3, .victims = {0, 1}, .part = part, .onlooker = kNewcomer});
}

INSTANTIATE_TEST_SUITE_P(Planes, MembershipOn, testing::ValuesIn(kCases),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
