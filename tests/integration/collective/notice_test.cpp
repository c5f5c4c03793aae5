#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <random>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "tests/integration/collective/checked_calls.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/ranks.h"
#include "tests/integration/collective/survivor.h"
#include "tests/support/child.h"
#include "tests/support/seed.h"
#include "tests/support/shared_value.h"
#include "tests/support/soak.h"

// How soon a loss ends the calls of the others.

namespace muster::comm {
namespace {

using collective::Operation;
using std::chrono::milliseconds;

constexpr int kSize = 3;
constexpr int kVictim = 1;  // the root

/// What a survivor does that cannot be over before the victim does its part.
struct Wait {
  std::string text;
  std::function<Result<void>(Group&)> run;  ///< returns its end
  Form form = {};
  int size = kSize;
};

Wait in_call(Operation operation, const Form& form, int size = kSize) {
  const auto run = [=](Group& group) {
    CheckedCalls calls(group, operation, form);
    auto result = calls.next();
    // Of a gather, only the root needs the victim.
    return result ? group.barrier() : result;
  };
  return {fmt::format("{} {}", form.name, collective::name(operation)), run, form, size};
}

Wait in_receive() {
  const auto run = [](Group& group) {
    std::vector<int> item(1);
    return group.recv(kVictim, item, {.tag = 3});
  };
  return {"recv", run};
}

class NoticeOn : public OnPlanes {
 protected:
  /// Lets the victim fall by a signal while the others wait; how long each of these took to notice.
  std::vector<milliseconds> fall(int signal, const Wait& wait, Duration lease) const {
    const test::SharedValue<LossBoard> board;
    std::vector<std::unique_ptr<test::Child>> children;
    for (int rank = 0; rank < wait.size; ++rank)
      children.push_back(std::make_unique<test::Child>([&, rank] {
        as_process([&] {
          GroupOptions mine = options(wait.size, rank);
          mine.lease = lease;
          take_effect(wait.form, mine);
          Group group = join_or_throw(std::move(mine));
          static_cast<void>(group.barrier());
          if (rank == kVictim) return fall_by(signal, *board);
          const auto result = wait.run(group);
          board->note_error(rank);
          demand(!result, "the call was not disturbed");
          demand(result.error().is(Errc::rank_lost), "another error: " + result.error().message());
        });
      }));
    std::vector<milliseconds> delays;
    for (int rank = 0; rank < wait.size; ++rank) {
      if (rank == kVictim) continue;
      EXPECT_EQ(children[static_cast<std::size_t>(rank)]->wait(), 0) << "rank " << rank;
      delays.push_back(board->delay(rank));
    }
    children[kVictim]->kill();
    return delays;
  }

  /// Alone on its cores a machine takes up to `usual`, which is tried for some times. A busy one
  /// may delay all, but not as long as it takes until a loss is seen in another way.
  void expect_notice(int signal, const Wait& wait, Duration lease, milliseconds usual,
                     milliseconds within) const {
    std::vector<milliseconds> best(static_cast<std::size_t>(wait.size) - 1, milliseconds::max());
    for (int attempt = 0; attempt < 5 && !HasFailure(); ++attempt) {
      const auto delays = fall(signal, wait, lease);
      std::transform(best.begin(), best.end(), delays.begin(), best.begin(),
                     [](auto a, auto b) { return std::min(a, b); });
      fmt::print("{}: after {}\n", wait.text, fmt::join(delays, ", "));
      if (*std::max_element(best.begin(), best.end()) <= usual) break;
    }
    for (const milliseconds delay : best) EXPECT_LE(delay, within) << wait.text;
  }

 private:
  static void fall_by(int signal, LossBoard& board) {
    // Until the others sleep in their calls.
    std::this_thread::sleep_for(milliseconds(30));
    board.note_fall();
    ::raise(signal);
  }
};

TEST_P(NoticeOn, AKillEndsWhatWaitsInAnyOperationLongBeforeTheLease) {
  const bool by_messages = GetParam().plane == Plane::network;
  std::vector<Wait> waits;
  for (const Operation operation : collective::kOperations) {
    for (const Form& form : forms_of(operation, GetParam().plane, kSize))
      waits.push_back(in_call(operation, form));
    for (const int size : {kTwoHosts, kThreeHosts})
      for (const Form& form : forms_on_hosts(operation, size))
        if (by_messages) waits.push_back(in_call(operation, form, size));
  }
  std::shuffle(waits.begin(), waits.end(), std::mt19937_64(test_seed()));
  waits.insert(waits.begin(), in_receive());
  test::Sample sample(5);
  for (std::size_t i = 0; sample.more() && i < waits.size(); ++i) {
    expect_notice(SIGKILL, waits[i], std::chrono::seconds(15), milliseconds(100),
                  milliseconds(1500));
    if (HasFailure()) return;
  }
}

TEST_P(NoticeOn, APauseEndsWhatWaitsWithinTheLease) {
  const milliseconds lease(3000);  // less, and a busy machine would starve a survivor for as long
  // Messages and threads take their time, too.
  const milliseconds usual = lease + milliseconds(200);
  expect_notice(SIGSTOP, in_call(Operation::allreduce, {"brief", 10}), lease, usual, 2 * lease);
  expect_notice(SIGSTOP, in_receive(), lease, usual, 2 * lease);
}

INSTANTIATE_TEST_SUITE_P(Planes, NoticeOn, testing::ValuesIn(kCases),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
