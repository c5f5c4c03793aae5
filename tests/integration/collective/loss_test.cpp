#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sched.h>
#include <set>
#include <sys/mount.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "tests/integration/collective/checked_calls.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/executioner.h"
#include "tests/integration/collective/forms.h"
#include "tests/integration/collective/group_memory.h"
#include "tests/integration/collective/ranks.h"
#include "tests/integration/collective/survivor.h"
#include "tests/support/child.h"
#include "tests/support/seed.h"
#include "tests/support/shared_value.h"
#include "tests/support/soak.h"

// Ranks are killed in the midst of calls.

namespace muster::comm {
namespace {

using collective::Operation;

/// A row of calls in the midst of which one rank is killed.
struct Row {
  Operation operation;
  Form form;
  int size;
  int victim;

  [[nodiscard]] int calls() const { return form.name == "long" ? 1 : 3; }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} {} of {} ranks", form.name, collective::name(operation), size);
  }
};

/// Makes the calls, and a barrier before and after them. The first error ends it. Counts those that
/// returned ok.
Result<void> make_calls(Group& group, const Row& row, Executioner& executioner,
                        std::uint64_t& finished) {
  if (auto ok = group.barrier(); !ok) return ok;
  ++finished;
  CheckedCalls calls(group, row.operation, row.form);
  for (int i = 0; i < row.form.warm_up + row.calls(); ++i) {
    executioner.in_danger = i >= row.form.warm_up;
    if (auto ok = calls.next(); !ok) return ok;
    ++finished;
  }
  executioner.in_danger = false;
  executioner.meet();
  if (auto ok = group.barrier(); !ok) return ok;
  ++finished;
  return {};
}

/// Ranks that are killed, and when.
using Kills = std::map<int, Moment>;

class LossOn : public OnPlanes {
 protected:
  /// False when no victim has so many steps. Else all of them die: those that hear of the loss of
  /// another before their own moment, as soon as they do.
  bool kill(const Row& row, const Kills& kills) const {
    const test::SharedValue<LossBoard> board;
    std::vector<std::unique_ptr<test::Child>> children;
    for (int rank = 0; rank < row.size; ++rank)
      children.push_back(std::make_unique<test::Child>(
          [&, rank] { as_process([&] { run_rank(row, kills, rank, *board); }); }));
    std::set<int> fates;
    for (int rank = 0; rank < row.size; ++rank) {
      const int fate = children[static_cast<std::size_t>(rank)]->wait();
      if (kills.contains(rank)) {
        fates.insert(fate);
      } else {
        EXPECT_EQ(fate, 0) << "rank " << rank << ", " << text(row, kills);
      }
    }
    EXPECT_TRUE(fates == std::set{0} || fates == std::set{-SIGKILL}) << text(row, kills);
    return !fates.contains(0);
  }

  /// With one victim at several moments.
  void kill_at_some(const Row& row, std::mt19937_64& random) const {
    Moment moment{1 + static_cast<int>(random() % 12)};
    for (; !kill(row, {{row.victim, moment}}); moment.step /= 2)
      ASSERT_GT(moment.step, 1) << row.text() << ": it has no steps";
    // What is lent, or lies in the arena, others read after they were told.
    const int read_later = row.form.name.starts_with("lent") ? 2 : row.form.arena ? 1 : 0;
    for (int late = read_later; late > 0 && !HasFailure(); --late) {
      moment.late = some_time(random);
      kill(row, {{row.victim, moment}});
    }
  }

  /// Every operation in every form on ranks that lie together, and those of one size on hosts. By
  /// messages there are many with other traits than plain: only one with each.
  static std::vector<Row> sampled_rows(std::mt19937_64& random) {
    std::vector<Row> some;
    const auto add = [&](Operation operation, std::vector<Form> forms, int size) {
      std::shuffle(forms.begin(), forms.end(), random);
      std::set<Trait> traits;
      for (const Form& form : forms) {
        const bool is_first = traits.insert(form.trait).second;
        if (GetParam().plane == Plane::shared || form.trait == Trait::plain || is_first)
          some.push_back(
              {operation, form, size, static_cast<int>(random() % static_cast<unsigned>(size))});
      }
    };
    for (const Operation operation : collective::kOperations) {
      const int size = 2 + static_cast<int>(random() % 3);
      add(operation, forms_of(operation, GetParam().plane, size), size);
      if (GetParam().plane == Plane::shared) continue;
      const int on_hosts = random() % 2 == 0 ? kTwoHosts : kThreeHosts;
      add(operation, forms_on_hosts(operation, on_hosts), on_hosts);
    }
    return some;
  }

  /// All that there are.
  static std::vector<Row> all_rows() {
    std::vector<Row> all;
    const auto add = [&](Operation operation, const std::vector<Form>& forms, int size) {
      for (const Form& form : forms)
        for (int victim = 0; victim < size; ++victim)
          all.push_back({operation, form, size, victim});
    };
    const bool shared = GetParam().plane == Plane::shared;
    for (const int size : {shared ? 2 : 3, shared ? 3 : 4})
      for (const Operation operation : collective::kOperations)
        add(operation, forms_of(operation, GetParam().plane, size), size);
    if (shared) return all;
    for (const int size : {kTwoHosts, kThreeHosts})
      for (const Operation operation : collective::kOperations)
        add(operation, forms_on_hosts(operation, size), size);
    return all;
  }

  static std::string text(const Row& row, const Kills& kills) {
    std::string text = row.text();
    for (const auto& [rank, moment] : kills)
      text += fmt::format(", rank {} is killed {}", rank, moment.text());
    return text;
  }

  std::map<std::string, std::string> driver_options_;

 private:
  void run_rank(const Row& row, const Kills& kills, int rank, LossBoard& board) const {
    GroupOptions mine = options(row.size, rank);
    mine.driver_options = driver_options_;
    take_effect(row.form, mine);
    const auto own = kills.find(rank);
    const bool is_victim = own != kills.end();
    const auto executioner = std::make_shared<Executioner>(is_victim ? own->second : Moment{},
                                                           [&] { board.note_fall(); });
    if (is_victim) mine.at_step = [executioner] { executioner->at_step(); };
    Group group = join_or_throw(std::move(mine));
    std::uint64_t finished = 0;
    const auto result = make_calls(group, row, *executioner, finished);
    if (result) {
      demand(board.fell == 0, "no call failed");
      return end_with(std::move(group));
    }
    if (is_victim) executioner->kill();
    board.note_error(rank);
    std::vector<int> victims;
    for (const auto& [victim, moment] : kills) victims.push_back(victim);
    check_loss(group, result.error(), victims);
    check_agreement(group, victims);
    Group left = go_on(std::move(group), victims, finished);
    {
      CheckedCalls calls(left, row.operation, row.form, 100);
      demand(calls.next(), "a call after shrink");
    }
    end_with(std::move(left));
  }
};

TEST_P(LossOn, WhatReturnsIsRightWhoeverIsKilledAndWhenever) {
  std::mt19937_64 random(test_seed());
  for (const Row& row : sampled_rows(random)) {
    kill_at_some(row, random);
    if (HasFailure()) return;
  }
}

TEST_P(LossOn, WhatReturnsIsRightWhenTwoAreKilled) {
  std::mt19937_64 random(test_seed());
  std::vector<Row> rows = all_rows();
  std::erase_if(rows, [](const Row& row) { return row.size < 3; });
  std::shuffle(rows.begin(), rows.end(), random);
  test::Sample sample(10);
  for (const Row& row : rows) {
    if (!sample.more() || HasFailure()) return;
    // Of two hosts: on each one is left that sees it at once.
    const int second = (row.victim + 1) % row.size;
    const auto some_moment = [&](int steps) {
      const int step = 1 + static_cast<int>(random() % static_cast<unsigned>(steps));
      return random() % 2 == 0 ? Moment{step} : Moment{step, some_time(random)};
    };
    int steps = 12;
    while (!kill(row, {{row.victim, some_moment(steps)}, {second, some_moment(steps)}})) {
      ASSERT_GT(steps, 1) << row.text() << ": it has no steps";
      steps /= 2;
    }
  }
}

TEST_P(LossOn, EveryStepOfEveryOperation) {
  if (!test::soaks()) GTEST_SKIP() << "for scripts/soak";
  const std::vector<Row> all = all_rows();
  std::mt19937_64 random(test_seed());
  test::Walk walk("kills." + testing::PrintToString(GetParam()), all.size());
  std::cout << "after " << walk.text() << std::endl;
  while (const auto number = walk.next()) {
    const Row& row = all[*number];
    const auto kill_at = [&](const Moment& moment) { return kill(row, {{row.victim, moment}}); };
    int step = 1;
    while (kill_at({step}) && !HasFailure()) {
      kill_at({step, some_time(random)});
      ++step;
    }
    std::cout << row.text() << ", rank " << row.victim << " is killed: " << step - 1 << " steps"
              << std::endl;
    ASSERT_GT(step, 1) << row.text() << ": it has no steps";
    if (HasFailure()) return;
  }
  std::cout << walk.text() << std::endl;
}

/// A process whose shared memory is its own, as is that of its children: what is there is theirs.
class NothingLeftOn : public LossOn {
 protected:
  void SetUp() override {
    LossOn::SetUp();
    test::Child child([] { ::_exit(has_own_memory() ? 0 : 1); });
    if (child.wait() != 0) GTEST_SKIP() << "may not have shared memory of its own";
  }

  void expect_nothing_left_by(const Kills& kills) const {
    test::Child child([&] {
      as_process([&] {
        demand(has_own_memory(), "shared memory of its own");
        kill({Operation::allreduce, {"allreduce", 30'000}, kSize, 1}, kills);
        demand(!HasFailure(), "the ranks do as they should");
        const std::vector<std::string> left = names_left();
        demand(left.empty(), fmt::format("left are {}", fmt::join(left, ", ")));
      });
    });
    EXPECT_EQ(child.wait(), 0);
  }

  static Kills everybody() {
    Kills all;
    for (int rank = 0; rank < kSize; ++rank) all[rank] = {};
    return all;
  }

 private:
  static constexpr int kSize = 3;

  static bool has_own_memory() {
    return ::unshare(CLONE_NEWNS | CLONE_NEWIPC) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("tmpfs", "/dev/shm", "tmpfs", 0, nullptr) == 0;
  }

  /// Of POSIX, and of System V by what the kernel says about them.
  static std::vector<std::string> names_left() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      names.push_back(entry.path().string());
    std::ifstream segments("/proc/sysvipc/shm");
    std::string line;
    std::getline(segments, line);  // headings
    while (std::getline(segments, line)) names.push_back(line);
    return names;
  }
};

TEST_P(NothingLeftOn, OneRankIsKilled) { expect_nothing_left_by({{1, {}}}); }

TEST_P(NothingLeftOn, AllRanksAreKilled) { expect_nothing_left_by(everybody()); }

INSTANTIATE_TEST_SUITE_P(Planes, NothingLeftOn, testing::ValuesIn(kCases),
                         testing::PrintToStringParamName());

/// UCX shares memory only when it is asked to.
using NothingLeftByUcxOn = NothingLeftOn;

TEST_P(NothingLeftByUcxOn, AllRanksAreKilled) {
  driver_options_["ucx.transports"] = "posix,tcp";
  expect_nothing_left_by(everybody());
}

INSTANTIATE_TEST_SUITE_P(Planes, NothingLeftByUcxOn, testing::Values(Case{Plane::network, "ucx"}),
                         testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(Planes, LossOn, testing::ValuesIn(kCases),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
