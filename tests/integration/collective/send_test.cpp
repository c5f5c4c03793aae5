#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/ranks.h"
#include "tests/integration/collective/survivor.h"
#include "tests/support/child.h"
#include "tests/support/shared_value.h"

// Sends that were started and cannot go on, because the other rank does not take what was sent
// before.

namespace muster::comm {
namespace {

using std::chrono::milliseconds;

constexpr Duration kSoon = std::chrono::seconds(30);
constexpr std::size_t kItems = std::size_t{16} << 20;

struct SendBoard {
  std::atomic<bool> joined{false};  ///< the receiver is about to stop
  std::atomic<bool> stuck{false};   ///< the sender's last send is not over
  std::atomic<std::uint8_t> sends{0};
};

void wait_until(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::sleep_for(milliseconds(1));
}

/// Sends to rank 1, which has stopped, until there is no room for more.
class Sends {
 public:
  explicit Sends(Group& group) : group_(group) {
    while (handles_.empty() || !stuck()) start();
  }

  void start(Timeout timeout = {}) {
    const auto number = static_cast<std::uint8_t>(data_.size());
    data_.emplace_back(kItems, number);
    handles_.push_back(
        demand(group_.isend(1, data_.back(), {.tag = 5, .timeout = timeout}), "isend"));
  }
  [[nodiscard]] Handle& last() { return handles_.back(); }
  [[nodiscard]] std::uint8_t count() const { return static_cast<std::uint8_t>(data_.size()); }
  void wait_for_all() {
    for (Handle& handle : handles_) demand(handle.wait(kSoon), "a send");
  }

 private:
  [[nodiscard]] bool stuck() {
    const auto result = last().wait(std::chrono::seconds(1));
    demand(result || result.error().is(Errc::timeout), "a send ends otherwise");
    return !result;
  }

  Group& group_;
  std::deque<std::vector<std::uint8_t>> data_;
  std::vector<Handle> handles_;
};

void check_cancelled(const Result<void>& result) {
  const std::string text =
      fmt::format("rank 0 of group 'test' gave up sending {} bytes to rank 1", kItems);
  demand(!result && result.error().is(Errc::cancelled) && result.error().message() == text,
         "it ends with: " + (result ? "no error" : result.error().message()));
}

class SendOn : public OnPlanes {
 protected:
  using Part = std::function<void(Group& group, SendBoard& board)>;

  /// Rank 1 stops before rank 0 does its part, and goes on when that is stuck.
  void play(const Part& sender, const Part& receiver) const {
    const test::SharedValue<SendBoard> board;
    test::Child first([&] {
      as_process([&] {
        Group group = join_or_throw(options(2, 0));
        demand(group.agree(1), "agree");
        wait_until(board->joined);
        sender(group, *board);
      });
    });
    test::Child second([&] {
      as_process([&] {
        Group group = join_or_throw(options(2, 1));
        demand(group.agree(1), "agree");
        board->joined = true;
        ::raise(SIGSTOP);
        receiver(group, *board);
      });
    });
    while (!board->stuck && !first.ended()) std::this_thread::sleep_for(milliseconds(1));
    // Again and again, because it may be about to stop.
    for (; !second.ended(); std::this_thread::sleep_for(milliseconds(5))) second.signal(SIGCONT);
    EXPECT_EQ(first.wait(), 0);
    EXPECT_EQ(second.wait(), 0);
  }
};

/// The receiver of what the sender gives up.
void expect_the_end(Group& group, SendBoard& /*board*/) {
  std::vector<std::uint8_t> data(kItems);
  Result<void> result;
  while (result) result = group.recv(0, data, {.tag = 5, .timeout = kSoon});
  check_cancelled(result);
  check_cancelled(group.barrier({.timeout = kSoon}));
  demand(group.agree(1, kSoon), "agree");
}

TEST_P(SendOn, ASlowReceiverGetsAllThatWasStarted) {
  const auto sender = [](Group& group, SendBoard& board) {
    Sends sends(group);
    sends.start(kSoon);
    board.sends = sends.count();
    board.stuck = true;
    sends.wait_for_all();
    end_with(std::move(group));
  };
  const auto receiver = [](Group& group, SendBoard& board) {
    wait_until(board.stuck);
    std::vector<std::uint8_t> data(kItems);
    for (std::uint8_t number = 0; number < board.sends; ++number) {
      demand(group.recv(0, data, {.tag = 5, .timeout = kSoon}), "recv");
      demand(data == std::vector<std::uint8_t>(kItems, number), "something else was received");
    }
    end_with(std::move(group));
  };
  play(sender, receiver);
}

TEST_P(SendOn, AnOverdueSendSaysToWhomAndEndsTheGroup) {
  const auto sender = [](Group& group, SendBoard& board) {
    Sends sends(group);
    sends.start(milliseconds(50));
    const auto result = sends.last().wait(kSoon);
    const std::string text = fmt::format("sending {} bytes to rank 1 is not over after", kItems);
    demand(
        !result && result.error().is(Errc::timeout) && result.error().message().starts_with(text),
        "it ends with: " + (result ? "no error" : result.error().message()));
    check_cancelled(group.barrier({.timeout = kSoon}));
    board.stuck = true;
    demand(group.agree(1, kSoon), "agree");
  };
  play(sender, expect_the_end);
}

TEST_P(SendOn, ACancelledSendSaysToWhomAndEndsTheGroup) {
  const auto sender = [](Group& group, SendBoard& board) {
    Sends sends(group);
    sends.last().cancel();
    check_cancelled(sends.last().wait(kSoon));
    check_cancelled(group.barrier({.timeout = kSoon}));
    board.stuck = true;
    demand(group.agree(1, kSoon), "agree");
  };
  play(sender, expect_the_end);
}

INSTANTIATE_TEST_SUITE_P(Planes, SendOn, testing::ValuesIn(kCases),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
