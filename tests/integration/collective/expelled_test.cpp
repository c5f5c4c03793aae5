#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <random>
#include <set>

#include <fmt/format.h>
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

// A rank is paused in the midst of a call, the others go on without it, and it wakes up.

namespace muster::comm {
namespace {

using collective::Operation;

constexpr int kSize = 3;

/// What the processes tell each other.
struct Stage {
  LossBoard loss;
  std::atomic<std::uint64_t> victims_memory{0};  // an inode
  std::atomic<bool> victim_is_done{false};
};

// With ranks that can read each other's memory the second is staged, and of the third what is not
// combined is lent.
const std::vector<Form> kForms{{"brief", 10},
                               {"staged", 12'000},
                               {"lent", (std::size_t{256} << 10) / 4},
                               {"arena", 50'000, 0, true}};

/// Some calls of every form, in which every item is compared.
Result<void> call_in_all_forms(Group& group, std::uint32_t round) {
  for (const Form& form : kForms) {
    for (const Operation operation : {Operation::allreduce, Operation::allgather,
                                      Operation::broadcast, Operation::all_to_all}) {
      CheckedCalls calls(group, operation, form, round);
      if (auto ok = calls.next(); !ok) return ok;
    }
  }
  return {};
}

class ExpelledOn : public OnPlanes {
 protected:
  void pause_at(const Form& form, Operation operation, int victim, int step) const {
    const test::SharedValue<Stage> stage;
    const test::Milestone went_on;
    std::vector<std::unique_ptr<test::Child>> children;
    for (int rank = 0; rank < kSize; ++rank) {
      children.push_back(std::make_unique<test::Child>([&, rank] {
        as_process([&] {
          GroupOptions mine = options(kSize, rank);
          mine.lease = std::chrono::seconds(3);
          if (rank == victim) return wake_up_late(mine, form, operation, step, *stage);
          go_on_alone(join_or_throw(mine), form, operation, victim, *stage, went_on);
        });
      }));
    }
    // Longer than the lease, on a busy machine.
    EXPECT_TRUE(went_on.wait() || went_on.wait() || went_on.wait());
    children[static_cast<std::size_t>(victim)]->signal(SIGCONT);
    for (int rank = 0; rank < kSize; ++rank)
      EXPECT_EQ(children[static_cast<std::size_t>(rank)]->wait(), 0)
          << "rank " << rank << ", " << form.name << " " << collective::name(operation) << ", rank "
          << victim << " pauses at step " << step;
  }

 private:
  static void wake_up_late(GroupOptions& mine, const Form& form, Operation operation, int step,
                           Stage& stage) {
    const auto in_danger = std::make_shared<std::atomic<bool>>(false);
    mine.at_step = [&stage, in_danger, left = std::make_shared<std::atomic<int>>(step)] {
      if (!*in_danger || --*left != 0) return;
      stage.loss.note_fall();
      ::raise(SIGSTOP);
    };
    Group group = join_or_throw(mine);
    const std::set<std::uint64_t> memory = group_memory();
    if (!memory.empty()) stage.victims_memory = *memory.begin();
    demand(group.barrier(), "the first barrier");
    *in_danger = true;
    CheckedCalls calls(group, operation, form);
    Result<void> result;
    while (result) result = calls.next();
    demand(result.error().is(Errc::expelled), "another error: " + result.error().message());
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
    for (std::uint32_t round = 0; std::chrono::steady_clock::now() < until; ++round) {
      for (const Form& other : kForms) {
        CheckedCalls more(group, operation, other, round);
        const auto called = more.next();
        demand(!called && called.error().is(Errc::expelled), "a call does not say expelled");
        demand(!more.start_next(), "a call can be started");
      }
    }
    const auto shrunk = group.shrink(std::chrono::seconds(5));
    demand(!shrunk && shrunk.error().is(Errc::expelled), "it may shrink");
    const auto agreed = group.agree(1, std::chrono::seconds(5));
    demand(!agreed && agreed.error().is(Errc::expelled), "it may agree");
    demand(group_memory() == memory, "it has got other memory");
    stage.victim_is_done = true;
  }

  static void go_on_alone(Group group, const Form& form, Operation operation, int victim,
                          Stage& stage, const test::Milestone& went_on) {
    std::uint64_t finished = 0;
    auto result = group.barrier();
    {
      CheckedCalls calls(group, operation, form);
      for (; result; ++finished) result = calls.next();
    }
    check_loss(group, result.error(), {victim});
    const int rank = group.rank();
    Group left = go_on(std::move(group), {victim}, finished);
    demand(!group_memory().contains(stage.victims_memory), "it is the memory of before");
    // All of them end after the same round.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::vector<int> is_over{0};
    for (std::uint32_t round = 0; is_over[0] == 0; ++round) {
      demand(std::chrono::steady_clock::now() < deadline, "the paused rank did not learn it");
      demand(call_in_all_forms(left, round), "a call after shrink");
      if (round == 0 && rank == (victim == 0 ? 1 : 0)) went_on.reach();
      is_over[0] = stage.victim_is_done ? 1 : 0;
      demand(left.allreduce(is_over, ReductionKind::min), "allreduce after shrink");
    }
    end_with(std::move(left));
  }
};

TEST_P(ExpelledOn, WhoWakesUpLateDisturbsNobodyAndLearnsIt) {
  std::mt19937_64 random(test_seed());
  test::Sample sample(1);
  const unsigned steps = test::soaks() ? 40 : 5;  // of several calls
  while (sample.more()) {
    pause_at(kForms[random() % kForms.size()],
             collective::kOperations[random() % collective::kOperations.size()],
             static_cast<int>(random() % kSize), 1 + static_cast<int>(random() % steps));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Planes, ExpelledOn, testing::ValuesIn(kCases),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
