#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "tests/integration/collective/checked_calls.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/executioner.h"
#include "tests/integration/collective/group_memory.h"
#include "tests/integration/collective/processes.h"
#include "tests/integration/collective/ranks.h"
#include "tests/integration/collective/survivor.h"
#include "tests/support/child.h"
#include "tests/support/seed.h"
#include "tests/support/soak.h"

// A newcomer is killed while a group takes it in, and another one comes in its place.

namespace muster::comm {
namespace {

// Nothing takes so long that does not wait in vain; less than the lease.
constexpr Duration kInTime = std::chrono::seconds(25);
constexpr Duration kLease = std::chrono::seconds(40);
// Of ranks that cannot see each other's processes.
constexpr Duration kLeaseBetweenHosts = std::chrono::seconds(5);
constexpr int kOld = 2;

enum class Kind : std::uint8_t {
  ranked,  ///< asks for its rank, as its successor does
  named,   ///< has the name that its successor has
  remote,  ///< is on another host, and its successor on a third
};

struct Newcomer {
  Kind kind = Kind::ranked;
  Moment moment;  ///< when it is killed

  [[nodiscard]] std::string text() const {
    constexpr std::array kNames{"ranked", "named", "remote"};
    return fmt::format("a {} newcomer is killed {}", kNames[static_cast<std::size_t>(kind)],
                       moment.text());
  }
};

void compute(Group& group) {
  const Form form{"staged", 12'000};
  CheckedCalls calls(group, collective::Operation::allreduce, form);
  demand(calls.next({.timeout = kInTime}), "allreduce");
}

/// Two calls: who comes to the second has the first behind it.
Result<void> first_calls(Group& group) {
  if (auto ok = group.barrier({.timeout = kInTime}); !ok) return ok;
  return group.barrier({.timeout = kInTime});
}

/// The newcomer is lost, or another rank could not go on because of that.
void check_says_lost(const Error& error) {
  const std::string named = fmt::format("rank {} of group 'test' is lost", kOld);
  const bool lost = error.is(Errc::rank_lost) || error.is(Errc::cancelled);
  demand(lost && error.message().find(named) != std::string::npos,
         "another error: " + error.message());
}

/// Grows; as long as a newcomer is lost with whom the group was made, the old group still works,
/// has no memory but its own, and grows again.
Group grow(Group& group) {
  const std::set<std::uint64_t> own = group_memory();
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto grown = group.grow(1, kInTime);
    const auto first = grown ? first_calls(*grown) : Result<void>(fail(grown.error()));
    if (!first) check_says_lost(first.error());
    if (demand(group.agree(first ? 1 : 0, kInTime), "agree").bits == 1) return *std::move(grown);
    grown = fail(Errc::closed, "");
    demand(group_memory_becomes(own), "memory of the group that could not be made is still there");
    compute(group);
  }
  demand(false, "two newcomers were lost");
  return group.grow(1).value();
}

class NewcomerOn : public OnPlanes {
 protected:
  /// False when the newcomer has fewer steps.
  bool kill(const Newcomer& newcomer) const {
    std::vector<std::unique_ptr<test::Child>> old;
    for (int rank = 0; rank < kOld; ++rank)
      old.push_back(std::make_unique<test::Child>(
          [&, rank] { as_process([&] { run_old(newcomer, rank); }); }));
    const Moment never{0};
    test::Child first([&] { as_process([&] { run_newcomer(newcomer, newcomer.moment); }); });
    const int fate = first.wait();
    EXPECT_TRUE(fate == 0 || fate == -SIGKILL) << newcomer.text();
    if (fate != 0) {
      test::Child second([&] { as_process([&] { run_newcomer(newcomer, never); }); });
      EXPECT_EQ(second.wait(), 0) << newcomer.text();
    }
    for (auto& rank : old) EXPECT_EQ(rank->wait(), 0) << newcomer.text();
    return fate != 0;
  }

  /// All steps, and a moment after each.
  void kill_everywhere(Kind kind, std::mt19937_64& random) const {
    Newcomer newcomer{.kind = kind, .moment = {}};
    for (; kill(newcomer) && !HasFailure(); ++newcomer.moment.step) {
      newcomer.moment.late = some_time(random);
      kill(newcomer);
      newcomer.moment.late = {};
    }
    fmt::print("{} steps\n", newcomer.moment.step - 1);
    EXPECT_GT(newcomer.moment.step, 1) << "it has no steps";
  }

  /// One step, or a moment after it.
  void kill_somewhere(Kind kind, std::mt19937_64& random) const {
    Newcomer newcomer{.kind = kind, .moment = {1 + static_cast<int>(random() % 8)}};
    if (random() % 2 == 0) newcomer.moment.late = some_time(random);
    while (!kill(newcomer) && newcomer.moment.step > 1) newcomer.moment.step /= 2;
  }

  static void go_between_hosts(GroupOptions& mine) {
    mine.lease = kLeaseBetweenHosts;
    mine.driver_options["zmq.advertise"] = "localhost";  // 127.0.0.1 would be taken for another's
  }

  void run_old(const Newcomer& newcomer, int rank) const {
    GroupOptions mine = options(kOld, rank);
    mine.lease = kLease;
    if (newcomer.kind == Kind::remote) go_between_hosts(mine);
    Group group = join_or_throw(std::move(mine));
    demand(group.barrier(), "barrier");
    group = grow(group);
    compute(group);
    end_with(std::move(group));
  }

  void run_newcomer(const Newcomer& newcomer, const Moment& moment) const {
    GroupOptions mine = options(kOld + 1, kOld);
    mine.join_timeout = kInTime;
    mine.lease = kLease;
    if (newcomer.kind == Kind::named) mine.member = "late";
    if (newcomer.kind != Kind::ranked) mine.rank.reset();
    if (newcomer.kind == Kind::remote) {
      go_between_hosts(mine);
      ::setenv("MUSTER_HOST_ID", fmt::format("host{}", ::getpid()).c_str(), 1);
    }
    const auto executioner = std::make_shared<Executioner>(moment);
    executioner->in_danger = true;
    mine.at_step = [executioner] { executioner->at_step(); };
    Group group = join_or_throw(std::move(mine));
    demand(group.barrier({.timeout = kInTime}), "the first barrier");
    executioner->in_danger = false;
    executioner->meet();
    demand(group.barrier({.timeout = kInTime}), "the second barrier");
    compute(group);
    end_with(std::move(group));
  }
};

TEST_P(NewcomerOn, KilledAnywhereHasASuccessorWithWhomTheGroupGrows) {
  std::mt19937_64 random(test_seed());
  for (const Kind kind : {Kind::ranked, Kind::named, Kind::remote}) {
    if (kind == Kind::remote && GetParam().driver != "zmq") continue;
    test::soaks() ? kill_everywhere(kind, random) : kill_somewhere(kind, random);
    if (HasFailure()) return;
  }
}

TEST_P(NewcomerOn, WithoutASuccessorIsMissedWhenTimeIsUpAndTheOldGroupGoesOn) {
  // It has told one of the others of itself.
  const Newcomer newcomer{.kind = Kind::ranked, .moment = {2}};
  test::Child child([&] { as_process([&] { run_newcomer(newcomer, newcomer.moment); }); });
  as_processes(kOld, [&](int rank) {
    Group group = join_or_throw(options(kOld, rank));
    const auto grown = group.grow(1, std::chrono::seconds(1));
    demand(!grown && grown.error().is(Errc::discovery_incomplete) &&
               grown.error().message().find("of 3 ranks came in time") != std::string::npos,
           "it ends with: " + (grown ? "no error" : grown.error().message()));
    compute(group);
    end_with(std::move(group));
  });
  child.kill();  // in case it came too late
}

INSTANTIATE_TEST_SUITE_P(Planes, NewcomerOn, testing::ValuesIn(kCases),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
