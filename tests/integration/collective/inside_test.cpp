#include <memory>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/processes.h"
#include "tests/integration/collective/ranks.h"
#include "tests/support/child.h"

// What a program may do from inside a call: where the call asks whether to go on, and where it
// reduces. Signal handlers run there, and destructors of whatever is let go of.

namespace muster::comm {
namespace {

constexpr Duration kSoon = std::chrono::seconds(30);

void demand_error(const Result<void>& result, Errc errc, const std::string& what) {
  demand(!result && result.error().is(errc),
         fmt::format("{}: {}", what, result ? "went well" : result.error().message()));
}

/// Two ranks; the program of the first one does something inside its first call that waits.
class InsideOn : public OnPlanes {
 protected:
  /// The second rank calls nothing before the first is done with its call.
  template <class Do, class Check>
  void do_where_it_asks(Do do_once, Check check) const {
    const test::Milestone ended;
    as_processes(2, [&](int rank) {
      std::unique_ptr<Group> group;
      bool done = false;
      GroupOptions given = options(2, rank);
      if (rank == 0)
        given.interrupted = [&] {
          if (group && !std::exchange(done, true)) do_once(*group);
          return false;
        };
      group = std::make_unique<Group>(join_or_throw(std::move(given)));
      std::vector<int> data(4, 1);
      if (rank == 0) {
        check(group->allreduce(data, {}, {.timeout = kSoon}));
        demand(done, "the program was asked");
        ended.reach();
      } else {
        demand(ended.wait(), "the call of rank 0 ends");
        // It may have given its part.
        static_cast<void>(group->allreduce(data, {}, {.timeout = kSoon}));
        demand(!group->barrier({.timeout = kSoon}), "rank 0 takes no part");
      }
    });
  }

  /// The first rank has also started a call, which is the next one.
  template <class Do, class Check>
  void do_where_it_reduces(Do do_once, Check check) const {
    as_processes(2, [&](int rank) {
      Group group = join_or_throw(options(2, rank));
      std::vector<int> data(4, 1);
      Handle next;
      bool done = false;
      const auto function = [&](std::byte*, const std::byte*, std::size_t) {
        if (rank == 0 && !std::exchange(done, true)) do_once(group, next);
      };
      const auto reduction = collective::Reduction::of(function);
      if (rank == 1) {
        require(group.recv(0, data, {.timeout = kSoon}));
        static_cast<void>(group.allreduce(data, reduction, {.timeout = kSoon}));
        return demand(!group.barrier({.timeout = kSoon}), "rank 0 takes no part");
      }
      Handle first = demand(group.iallreduce(data, reduction), "start");
      next = demand(group.ibarrier(), "start the next");
      require(group.send(1, data, {.timeout = kSoon}));
      static_cast<void>(first.wait(kSoon));
      demand(done, "the function was called");
      check(next.wait(kSoon));
    });
  }
};

TEST_P(InsideOn, ACallEndsThatClosesTheGroupWhereItAsksWhetherToGoOn) {
  do_where_it_asks([](Group& group) { group.close(); },
                   [](const Result<void>& result) {
                     demand_error(result, Errc::closed, "the call of who closed");
                   });
}

TEST_P(InsideOn, ACallEndsThatGivesUpAnotherWhereItAsksWhetherToGoOn) {
  do_where_it_asks([](Group& group) { demand(group.ibarrier(), "ibarrier").cancel(); },
                   [](const Result<void>& result) {
                     demand_error(result, Errc::cancelled, "the call of who gave up another");
                   });
}

TEST_P(InsideOn, ACallEndsWhoseFunctionClosesTheGroup) {
  do_where_it_reduces(
      [](Group& group, Handle&) { group.close(); },
      [](const Result<void>& next) { demand_error(next, Errc::closed, "the next call"); });
}

TEST_P(InsideOn, ACallEndsWhoseFunctionGivesUpTheNext) {
  do_where_it_reduces(
      [](Group&, Handle& next) { next.cancel(); },
      [](const Result<void>& next) { demand_error(next, Errc::cancelled, "the next call"); });
}

TEST_P(InsideOn, ACallEndsWhoseProgramThrowsWhereItIsAsked) {
  const test::Milestone ended;
  as_processes(2, [&](int rank) {
    bool joined = false;
    GroupOptions given = options(2, rank);
    if (rank == 0)
      given.interrupted = [&]() -> bool {
        return joined ? throw std::domain_error("enough") : false;
      };
    Group group = join_or_throw(std::move(given));
    joined = true;
    std::vector<int> data(4, 1);
    if (rank == 0) {
      try {
        static_cast<void>(group.allreduce(data, {}, {.timeout = kSoon}));
        demand(false, "the call returns");
      } catch (const std::domain_error&) {
        ended.reach();
      }
    } else {
      demand(ended.wait(), "the call of rank 0 ends");
      static_cast<void>(group.allreduce(data, {}, {.timeout = kSoon}));
    }
    demand_error(group.barrier({.timeout = kSoon}), Errc::cancelled, "the next call");
    demand(group.agree(1, kSoon), "agree");
  });
}

/// In memory only: by messages nothing stands in the way of what would be the next call.
using InsideInMemory = InsideOn;

TEST_P(InsideInMemory, ACallIsRefusedThatTheCallAroundItStandsInTheWayOf) {
  const auto demand_refused = [](const auto& call) {
    try {
      call();
    } catch (const std::logic_error& problem) {
      const std::string text = problem.what();
      return demand(text.find("another call with the same tag") != std::string::npos, text);
    }
    demand(false, "it was not refused");
  };
  do_where_it_asks(
      [&](Group& group) {
        demand_refused([&] { static_cast<void>(group.barrier({.timeout = kSoon})); });
        Handle next = demand(group.ibarrier(), "ibarrier");
        demand_refused([&] { static_cast<void>(next.wait(kSoon)); });
        group.close();
      },
      [](const Result<void>& result) { demand_error(result, Errc::closed, "the call around it"); });
}

INSTANTIATE_TEST_SUITE_P(Planes, InsideOn, kEveryPlane, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Planes, InsideInMemory, kInMemory, testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
