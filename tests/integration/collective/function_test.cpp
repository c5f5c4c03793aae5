#include <array>
#include <barrier>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/processes.h"
#include "tests/integration/collective/ranks.h"
#include "tests/support/child.h"

// Reduction functions that do more than to combine items. All other threads of the process, and all
// other ranks, may be waiting for what such a function is called by.

namespace muster::comm {
namespace {

constexpr Duration kSoon = std::chrono::seconds(30);
constexpr CallOptions kInTime = {.timeout = kSoon};

/// A reduction of integers by sum that does something else as well, when it is called first.
template <class Do>
Reduction sum_and(Do do_once) {
  return Reduction::of([do_once, done = std::make_shared<std::atomic<bool>>(false)](
                           std::byte* into, const std::byte* from, std::size_t count) {
    if (!done->exchange(true)) do_once();
    collective::reduce(ReductionKind::sum, Element::i32, into, into, from, count);
  });
}

void demand_error(const Result<void>& result, Errc errc, const std::string& what) {
  demand(!result && result.error().is(errc),
         fmt::format("{}: {}", what, result ? "went well" : result.error().message()));
}

void demand_refused(const std::string& what, const std::function<void()>& call) {
  try {
    call();
  } catch (const std::logic_error& problem) {
    const std::string text = problem.what();
    return demand(text.find("reduction function") != std::string::npos, what + ": " + text);
  }
  demand(false, what + " was not refused");
}

/// All that would wait for this process, or for others.
void demand_all_refused(Group& group, Group& part, Handle& handle) {
  std::vector<int> data(4);
  demand_refused("barrier", [&] { static_cast<void>(group.barrier(kInTime)); });
  demand_refused("another tag",
                 [&] { static_cast<void>(group.barrier({.tag = 9, .timeout = kSoon})); });
  demand_refused("allreduce", [&] { static_cast<void>(group.allreduce(data, {}, kInTime)); });
  demand_refused("ibarrier", [&] { static_cast<void>(group.ibarrier(kInTime)); });
  demand_refused("send", [&] { static_cast<void>(group.send(1, data, kInTime)); });
  demand_refused("recv", [&] { static_cast<void>(group.recv(1, data, kInTime)); });
  demand_refused("isend", [&] { static_cast<void>(group.isend(1, data, kInTime)); });
  demand_refused("irecv", [&] { static_cast<void>(group.irecv(1, data, kInTime)); });
  demand_refused("agree", [&] { static_cast<void>(group.agree(1, kSoon)); });
  demand_refused("shrink", [&] { static_cast<void>(group.shrink(kSoon)); });
  demand_refused("grow", [&] { static_cast<void>(group.grow(1, kSoon)); });
  demand_refused("split", [&] { static_cast<void>(group.split(0, 0, kInTime)); });
  demand_refused("lost", [&] { static_cast<void>(group.lost()); });
  demand_refused("a call of a part", [&] { static_cast<void>(part.barrier(kInTime)); });
  demand_refused("wait", [&] { static_cast<void>(handle.wait(kSoon)); });
  demand_refused("test", [&] { static_cast<void>(handle.test()); });
}

class FunctionOn : public OnPlanes {
 protected:
  /// The first of two ranks, in whose function all is tried; the second just calls along.
  template <class Run>
  void refuse_all_in(Run run) const {
    as_processes(2, [&](int rank) {
      Group group = join_or_throw(options(2, rank));
      Group part = demand(group.split(0, 0, kInTime), "split");
      Handle handle = demand(group.ibarrier({.tag = 3}), "start");
      std::vector<int> data(4, rank + 1);
      if (rank == 0) {
        run(group, data, [&] { demand_all_refused(group, part, handle); });
      } else {
        int word = 0;
        demand(group.recv(0, std::span(&word, 1), kInTime), "recv");
        demand(group.allreduce(data, sum_and([] {}), kInTime), "allreduce");
      }
      demand(data == std::vector<int>(4, 3), "the sum is right");
      demand(handle.wait(kSoon), "wait");
      demand(part.barrier(kInTime), "a call of the part");
      demand(group.barrier(kInTime), "the next call");
    });
  }

  /// Two calls of the first rank, in two groups or with two tags, whose functions are called at the
  /// same time, and do something to each other's group or next call.
  template <class Do, class Check>
  void meet_in_functions(std::size_t group_count, Do do_to_other, Check check_next) const {
    const test::Milestone ended;
    as_processes(2, [&](int rank) {
      std::vector<Group> groups;
      for (std::size_t i = 0; i < group_count; ++i) {
        GroupOptions given = options(2, rank);
        given.name = fmt::format("group {}", i);
        groups.push_back(join_or_throw(std::move(given)));
      }
      Group& starts = groups[0];
      std::array<std::vector<int>, 2> data{std::vector(4, 1), std::vector(4, 1)};
      if (rank == 1) {
        demand(starts.recv(0, data[0], {.tag = 9, .timeout = kSoon}), "recv");
        twice([&](std::size_t i) {
          static_cast<void>(groups[i % group_count].allreduce(
              data[i], sum_and([] {}), {.tag = static_cast<int>(i), .timeout = kSoon}));
        });
        demand(ended.wait(), "the calls of rank 0 end");
        for (Group& group : groups) {
          static_cast<void>(group.barrier(kInTime));  // rank 0 may have given its part
          demand(!group.barrier(kInTime), "rank 0 takes no part");
        }
        return;
      }
      std::barrier<> both(2);
      std::array<Handle, 2> calls;
      std::array<Handle, 2> next;
      for (const std::size_t i : {0u, 1u}) {
        const CallOptions given{.tag = static_cast<int>(i)};
        Group& group = groups[i % group_count];
        Group& other = groups[(i + 1) % group_count];
        calls[i] = demand(group.iallreduce(data[i], sum_and([&, i] {
                                             both.arrive_and_wait();
                                             do_to_other(other, next[1 - i]);
                                           }),
                                           given),
                          "start");
        next[i] = demand(group.ibarrier(given), "start the next");
      }
      demand(starts.send(1, std::vector<int>(4), {.tag = 9, .timeout = kSoon}), "send");
      twice([&](std::size_t i) { static_cast<void>(calls[i].wait(kSoon)); });
      for (Handle& handle : next) check_next(handle.wait(kSoon));
      ended.reach();
    });
  }

  /// In two threads.
  static void twice(const std::function<void(std::size_t)>& body) {
    const std::jthread other(body, 1);
    body(0);
  }

  /// A rank whose function, called in the background, lets go of the last owner of the group, and
  /// perhaps of its handles.
  void let_go_in_background(bool keeps_handles) const {
    as_processes(2, [&](int rank) {
      std::promise<void> all_is_gone;
      std::unique_ptr<Group> group;
      std::vector<int> sum(4, 1);
      std::vector<int> item(1);
      if (rank == 1) {
        group = std::make_unique<Group>(join_or_throw(options(2, 1)));
        demand(group->recv(0, item, kInTime), "recv");
        static_cast<void>(group->allreduce(sum, sum_and([] {}), kInTime));
        return demand(!group->barrier(kInTime), "rank 0 takes no part");
      }
      group = std::make_unique<Group>(join_or_throw(telling_its_end(all_is_gone)));
      std::promise<void> let_go;
      std::array<Handle, 2> handles;
      handles[0] = demand(group->irecv(1, item, {.tag = 5}), "irecv");
      handles[1] = demand(group->iallreduce(sum, sum_and([&] {
                                              group.reset();
                                              if (!keeps_handles) handles = {};
                                              let_go.set_value();
                                            })),
                          "start");
      demand(group->send(1, std::vector{0}, kInTime), "send");
      let_go.get_future().wait();
      if (keeps_handles) {
        demand_error(handles[0].wait(kSoon), Errc::closed, "the receive");
        // The call itself goes on until it would wait.
        if (const auto result = handles[1].wait(kSoon); !result)
          demand_error(result, Errc::closed, "the call");
        handles = {};
      }
      all_is_gone.get_future().wait();
    });
  }

  /// Of the first rank; `end` is told when nothing is left of the group.
  GroupOptions telling_its_end(std::promise<void>& end) const {
    GroupOptions given = options(2, 0);
    const std::shared_ptr<void> token(nullptr, [&](void*) { end.set_value(); });
    given.interrupted = [token] { return false; };
    return given;
  }
};

TEST_P(FunctionOn, CallsAreRefusedInAFunction) {
  refuse_all_in([](Group& group, std::vector<int>& data, const auto& try_all) {
    demand(group.send(1, std::vector{0}, kInTime), "send");
    demand(group.allreduce(data, sum_and(try_all), kInTime), "allreduce");
  });
}

TEST_P(FunctionOn, CallsAreRefusedInAFunctionThatTheBackgroundThreadRuns) {
  refuse_all_in([](Group& group, std::vector<int>& data, const auto& try_all) {
    std::promise<void> tried;
    Handle call = demand(group.iallreduce(data, sum_and([&] {
                                            try_all();
                                            tried.set_value();
                                          })),
                         "start");
    demand(group.send(1, std::vector{0}, kInTime), "send");
    tried.get_future().wait();
    demand(call.wait(kSoon), "allreduce");
  });
}

TEST_P(FunctionOn, TwoThatGiveUpCallsOfEachOthersGroupBothReturn) {
  meet_in_functions(
      2, [](Group&, Handle& next) { next.cancel(); },
      [](const Result<void>& next) { demand_error(next, Errc::cancelled, "the next call"); });
}

TEST_P(FunctionOn, TwoThatCloseEachOthersGroupBothReturn) {
  meet_in_functions(
      2, [](Group& other, Handle&) { other.close(); },
      [](const Result<void>& next) { demand_error(next, Errc::closed, "the next call"); });
}

/// In memory only: functions of calls by messages are called one after the other.
using FunctionInMemory = FunctionOn;

TEST_P(FunctionInMemory, TwoThatGiveUpCallsWithEachOthersTagBothReturn) {
  meet_in_functions(
      1, [](Group&, Handle& next) { next.cancel(); },
      [](const Result<void>& next) { demand_error(next, Errc::cancelled, "the next call"); });
}

TEST_P(FunctionOn, TheBackgroundThreadLetsGoOfTheLastGroup) { let_go_in_background(true); }

TEST_P(FunctionOn, TheBackgroundThreadLetsGoOfTheLastGroupAndItsHandles) {
  let_go_in_background(false);
}

INSTANTIATE_TEST_SUITE_P(Planes, FunctionOn, kEveryPlane, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Planes, FunctionInMemory, kInMemory, testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
