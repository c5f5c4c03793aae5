#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <set>

#include <fmt/format.h>
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
    return fmt::format("{} {} of {} ranks, rank {} is killed", form.name,
                       collective::name(operation), size, victim);
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

class LossOn : public OnPlanes {
 protected:
  /// False when the victim has fewer steps.
  bool kill_at(const Row& row, const Moment& moment) const {
    const test::SharedValue<LossBoard> board;
    std::vector<std::unique_ptr<test::Child>> children;
    for (int rank = 0; rank < row.size; ++rank)
      children.push_back(std::make_unique<test::Child>(
          [&, rank] { as_process([&] { run_rank(row, moment, rank, *board); }); }));
    const int fate = children[static_cast<std::size_t>(row.victim)]->wait();
    EXPECT_TRUE(fate == 0 || fate == -SIGKILL) << row.text() << " " << moment.text();
    for (int rank = 0; rank < row.size; ++rank) {
      if (rank == row.victim) continue;
      EXPECT_EQ(children[static_cast<std::size_t>(rank)]->wait(), 0)
          << "rank " << rank << ", " << row.text() << " " << moment.text();
    }
    return fate != 0;
  }

  /// With one victim at several moments.
  void kill_at_some(const Row& row, std::mt19937_64& random) const {
    Moment moment{1 + static_cast<int>(random() % 12)};
    for (; !kill_at(row, moment); moment.step /= 2)
      ASSERT_GT(moment.step, 1) << row.text() << ": it has no steps";
    // What is lent, or lies in the arena, others read after they were told.
    const int read_later = row.form.name.starts_with("lent") ? 2 : row.form.arena ? 1 : 0;
    for (int late = read_later; late > 0 && !HasFailure(); --late) {
      moment.late = some_time(random);
      kill_at(row, moment);
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

 private:
  void run_rank(const Row& row, const Moment& moment, int rank, LossBoard& board) const {
    GroupOptions mine = options(row.size, rank);
    take_effect(row.form, mine);
    const auto executioner = std::make_shared<Executioner>(moment, [&] { board.note_fall(); });
    if (rank == row.victim) mine.at_step = [executioner] { executioner->at_step(); };
    Group group = join_or_throw(std::move(mine));
    std::uint64_t finished = 0;
    const auto result = make_calls(group, row, *executioner, finished);
    if (result) {
      demand(board.fell == 0, "no call failed");
      return end_with(std::move(group));
    }
    board.note_error(rank);
    check_loss(group, result.error(), row.victim);
    check_agreement(group, row.victim);
    Group left = go_on(std::move(group), {row.victim}, finished);
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

TEST_P(LossOn, EveryStepOfEveryOperation) {
  if (!test::soaks()) GTEST_SKIP() << "for scripts/soak";
  const std::vector<Row> all = all_rows();
  std::mt19937_64 random(test_seed());
  test::Walk walk("kills." + testing::PrintToString(GetParam()), all.size());
  std::cout << "after " << walk.text() << std::endl;
  while (const auto number = walk.next()) {
    const Row& row = all[*number];
    int step = 1;
    while (kill_at(row, {step}) && !HasFailure()) {
      kill_at(row, {step, some_time(random)});
      ++step;
    }
    std::cout << row.text() << ": " << step - 1 << " steps" << std::endl;
    ASSERT_GT(step, 1) << row.text() << ": it has no steps";
    if (HasFailure()) return;
  }
  std::cout << walk.text() << std::endl;
}

TEST_P(LossOn, NothingIsLeftInTheFileSystem) {
  const auto shared_files = [] {
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      if (entry.path().filename().string().find("muster") != std::string::npos)
        files.insert(entry.path().string());
    return files;
  };
  const auto before = shared_files();
  kill_at({Operation::allreduce, {"allreduce", 30'000}, 3, 1}, {});
  EXPECT_EQ(shared_files(), before);
}

INSTANTIATE_TEST_SUITE_P(Planes, LossOn, testing::ValuesIn(kCases),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
