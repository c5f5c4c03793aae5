#include <atomic>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "muster/runtime/process_life.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/processes.h"
#include "tests/integration/collective/ranks.h"
#include "tests/support/child.h"
#include "tests/support/shared_value.h"

// What a rank said before it left arrives, also when its process ends at once.

namespace muster::comm {
namespace {

constexpr CallOptions kSoon = {.timeout = std::chrono::seconds(30)};

class FarewellOn : public OnPlanes {
 protected:
  using Part = std::function<void(Group&)>;

  /// Rank 1 does its part, leaves and ends; only then rank 0, which did something else meanwhile,
  /// does its own.
  void part(const Part& first, const Part& last) const {
    const test::SharedValue<std::atomic<bool>> gone;
    test::Child stays([&] {
      as_process([&] {
        Group group = join_or_throw(options(2, 0));
        use_up_channels(group);
        while (!*gone) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        // Until it has been told that the process has ended.
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        last(group);
      });
    });
    test::Child leaves([&] {
      as_process([&] {
        Group group = join_or_throw(options(2, 1));
        use_up_channels(group);
        first(group);
      });
    });
    EXPECT_EQ(leaves.wait(), 0);
    *gone = true;
    EXPECT_EQ(stays.wait(), 0);
  }
};

TEST_P(FarewellOn, WhatWasSentIsReceived) {
  part([](Group& group) { demand(group.send(0, std::vector{7}, kSoon), "send"); },
       [](Group& group) {
         std::vector<int> item(1);
         demand(group.recv(1, item, kSoon), "recv");
         demand(item[0] == 7, "another item was received");
       });
}

TEST_P(FarewellOn, WhatWasBroadcastIsReceived) {
  const CallOptions by_messages = {.tag = kTagWithoutChannel, .timeout = kSoon.timeout};
  part([&](Group& group) { demand(group.broadcast(std::vector{7}, 1, by_messages), "broadcast"); },
       [&](Group& group) {
         std::vector<int> item(1);
         demand(group.broadcast(item, 1, by_messages), "broadcast");
         demand(item[0] == 7, "another item was received");
       });
}

// As a program does that closes its group and then ends without letting go of anything.
void close_and_end(Group& group) {
  group.close();
  ::_exit(0);
}

TEST_P(FarewellOn, WhatWasSaidBeforeTheGroupWasClosedArrives) {
  const auto add = [](Group& group) {
    std::vector<int> data(1000, group.rank() + 1);
    demand(group.allreduce(data, {}, kSoon), "allreduce");
    demand(data[999] == 3, "another sum");
  };
  for (int round = 0; round < 3; ++round) {
    as_processes(2, [&](int rank) {
      Group group = join_or_throw(options(2, rank));
      add(group);
      close_and_end(group);
    });
  }
}

TEST_P(FarewellOn, WhatWasSentBeforeTheGroupWasClosedIsReceived) {
  part(
      [](Group& group) {
        demand(group.send(0, std::vector<int>(100'000, 7), kSoon), "send");
        close_and_end(group);
      },
      [](Group& group) {
        std::vector<int> items(100'000);
        demand(group.recv(1, items, kSoon), "recv");
        demand(items.back() == 7, "another item was received");
      });
}

TEST_P(FarewellOn, WhatWasSentBeforeAPartOfTheGroupWasClosedIsReceived) {
  as_processes(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    Group part = demand(group.split(0), "split");
    if (rank == 1) {
      demand(part.send(0, std::vector<int>(100'000, 7), kSoon), "send");
      close_and_end(part);
    }
    std::vector<int> items(100'000);
    demand(part.recv(1, items, kSoon), "recv");
    demand(items.back() == 7, "another item was received");
  });
}

// In memory, what was said has arrived at once.
class LateFarewellOn : public OnPlanes {};

TEST_P(LateFarewellOn, WhatWasSentIsReceivedThoughAnEarlierFarewellWasInVain) {
  const test::SharedValue<std::atomic<pid_t>> stopped;
  as_processes(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    Group first = demand(group.split(0), "split");
    Group second = demand(group.split(0), "another split");
    std::vector<int> items(5'000'000, 7 * rank);
    if (rank == 1) {
      while (!process_is_stopped(*stopped))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      first.close();
      ::kill(*stopped, SIGCONT);
      demand(second.send(0, items, kSoon), "send");
      close_and_end(second);
    }
    *stopped = ::getpid();
    ::raise(SIGSTOP);
    demand(second.recv(1, items, kSoon), "recv");
    demand(items.back() == 7, "another item was received");
  });
}

INSTANTIATE_TEST_SUITE_P(Planes, FarewellOn, testing::ValuesIn(kCases),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Planes, LateFarewellOn,
                         testing::Values(Case{Plane::network, "zmq"}, Case{Plane::network, "ucx"}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
