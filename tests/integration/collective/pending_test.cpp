#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "tests/integration/collective/checked_calls.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/ranks.h"
#include "tests/integration/collective/survivor.h"
#include "tests/support/child.h"
#include "tests/support/shared_value.h"

// What was started ends with the group, also what nobody waits for and what needs nobody who died.

namespace muster::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kSize = 3;
constexpr int kVictim = 2;

/// Many calls at once, more than there are channels in memory, and receives that nobody serves.
class Started {
 public:
  explicit Started(Group& group) : from_victim_(1), from_other_(1) {
    const Form form{"staged", 12'000};
    for (int tag = 0; tag < 20; ++tag) {
      const auto at = static_cast<std::size_t>(tag) % collective::kOperations.size();
      calls_.push_back(
          std::make_unique<CheckedCalls>(group, collective::kOperations[at], form, tag));
      handles_.push_back(demand(calls_.back()->start_next({.tag = tag}), "start"));
    }
    receives_.push_back(demand(group.irecv(kVictim, from_victim_, {.tag = 1}), "irecv"));
    receives_.push_back(demand(group.irecv(1 - group.rank(), from_other_, {.tag = 2}), "irecv"));
  }

  /// Of the calls some may have been over without the victim: these are right. Returns how many
  /// with tag 0.
  std::uint64_t check_end() {
    std::uint64_t finished = 0;
    for (std::size_t tag = 0; tag < handles_.size(); ++tag) {
      const auto result = handles_[tag].wait(seconds(20));
      if (result) {
        calls_[tag]->check_result();
        finished += tag == 0 ? 1 : 0;
      } else {
        check_error(result.error(), fmt::format("the call with tag {}", tag));
      }
    }
    for (Handle& receive : receives_) {
      const auto result = receive.wait(seconds(20));
      demand(!result, "something was received");
      check_error(result.error(), "the receive");
    }
    return finished;
  }

 private:
  static void check_error(const Error& error, const std::string& what) {
    const std::string named = fmt::format("rank {} of group", kVictim);
    demand(error.is(Errc::rank_lost) && error.message().find(named) != std::string::npos,
           fmt::format("{} ends with: {}", what, error.message()));
  }

  std::vector<int> from_victim_;
  std::vector<int> from_other_;
  std::vector<std::unique_ptr<CheckedCalls>> calls_;
  std::vector<Handle> handles_;
  std::vector<Handle> receives_;
};

struct PendingBoard {
  LossBoard loss;
  std::atomic<int> started{0};  ///< ranks that have started all
};

/// Dies when the others have started all, and had time to fall asleep.
void die_late(PendingBoard& board) {
  while (board.started < kSize - 1) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(30));
  board.loss.note_fall();
  ::raise(SIGKILL);
}

class PendingOn : public OnPlanes {};

TEST_P(PendingOn, AllThatWasStartedEndsWhenARankIsKilled) {
  milliseconds best = milliseconds::max();
  // As quick as that when it is alone on its cores; a busy machine takes longer, but not a lease.
  for (int attempt = 0; attempt < 5 && best > milliseconds(100); ++attempt) {
    const test::SharedValue<PendingBoard> board;
    std::vector<std::unique_ptr<test::Child>> children;
    for (int rank = 0; rank < kSize; ++rank)
      children.push_back(std::make_unique<test::Child>([&, rank] {
        as_process([&] {
          Group group = join_or_throw(options(kSize, rank));
          demand(group.agree(1), "agree");
          if (rank == kVictim) die_late(*board);
          std::uint64_t finished = 0;
          {
            Started started(group);
            ++board->started;
            finished = started.check_end();
            board->loss.note_error(rank);
          }
          check_agreement(group, {kVictim});
          end_with(go_on(std::move(group), {kVictim}, finished));
        });
      }));
    EXPECT_EQ(children[kVictim]->wait(), -SIGKILL);
    for (int rank = 0; rank < kVictim; ++rank)
      ASSERT_EQ(children[static_cast<std::size_t>(rank)]->wait(), 0) << "rank " << rank;
    best = std::min(best, std::max(board->loss.delay(0), board->loss.delay(1)));
    fmt::print("after {} ms\n", best.count());
  }
  EXPECT_LE(best, milliseconds(1500));
}

TEST_P(PendingOn, AReceiveEndsWhenARankGivesUpACall) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    require(group.agree(1));  // a barrier could still be under way when the next one is given up
    if (rank == 1) {
      EXPECT_FALSE(group.barrier({.timeout = milliseconds(50)}));
      EXPECT_FALSE(group.send(0, std::vector<int>{1}, {.tag = 8}));
      static_cast<void>(group.agree(1));
      return;
    }
    std::vector<int> item(1);
    const auto result = group.recv(1, item, {.tag = 7, .timeout = seconds(20)});
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is(Errc::cancelled)) << result.error().message();
    static_cast<void>(group.agree(1));
  });
}

INSTANTIATE_TEST_SUITE_P(Planes, PendingOn, testing::ValuesIn(kCases),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
