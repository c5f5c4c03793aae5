#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "muster/comm/errc.h"
#include "tests/integration/collective/ranks.h"
#include "tests/support/child.h"
#include "tests/support/seed.h"
#include "tests/support/soak.h"

namespace muster::comm {
namespace {

using collective::Operation;

/// What a rank that is a process of its own checks: the first thing that is wrong ends it.
void demand(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "process " << ::getpid() << ": " << what << std::endl;
  ::_exit(1);
}

template <class T>
T demand(Result<T> result, const std::string& what) {
  demand(result.has_value(), what + (result ? "" : ": " + result.error().message()));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// One call of every operation, large enough for several steps.
Result<void> call_any(Group& group, Operation operation, std::size_t count, std::vector<int>& input,
                      std::vector<int>& output) {
  collective::Call call;
  call.operation = operation;
  call.element = Element::i32;
  call.count = count;
  call.root = 1;
  input.assign(call.count * static_cast<std::size_t>(group.size()), group.rank() + 1);
  output.assign(input.size(), 0);
  call.input = reinterpret_cast<const std::byte*>(input.data());
  call.output = reinterpret_cast<std::byte*>(output.data());
  return group.run(call);
}

/// What every survivor does: calls until a call fails, looks at the error, shrinks and goes on.
void survive(Group group, Operation operation, std::size_t count, int victim) {
  std::vector<int> input;
  std::vector<int> output;
  Result<void> result;
  for (int i = 0; i < 10'000 && result; ++i)
    result = call_any(group, operation, count, input, output);
  demand(!result, "no call failed");
  demand(result.error().is(Errc::rank_lost), "another error: " + result.error().message());
  const std::string named = "rank " + std::to_string(victim);
  demand(result.error().message().find(named) != std::string::npos,
         "the error does not name the rank: " + result.error().message());
  const auto again = group.barrier();
  demand(!again && again.error().message() == result.error().message(),
         "a later call does not fail alike: " + (again ? "" : again.error().message()));
  auto shrunk = demand(group.shrink(), "shrink");
  demand(shrunk.lost == std::vector<int>{victim},
         fmt::format("lost are {}", fmt::join(shrunk.lost, ", ")));
  demand(shrunk.group.size() == group.size() - 1, "the new group has another size");
  std::vector<int> one{1};
  demand(shrunk.group.allreduce(one), "allreduce after shrink");
  demand(one[0] == shrunk.group.size(), "a wrong sum after shrink");
  demand(shrunk.group.barrier(), "barrier after shrink");
}

class LossOn : public OnPlanes {
 protected:
  /// Kills the victim when it has come to its n-th step, in the midst of a row of calls.
  void kill_at(Operation operation, std::size_t count, int size, int victim, int step) const {
    std::vector<std::unique_ptr<test::Child>> children;
    for (int rank = 0; rank < size; ++rank) {
      children.push_back(std::make_unique<test::Child>([&, rank] {
        try {
          GroupOptions mine = options(size, rank);
          const auto armed = std::make_shared<std::atomic<bool>>(false);
          if (rank == victim) {
            mine.at_step = [armed, left = step]() mutable {
              if (*armed && --left == 0) ::raise(SIGKILL);
            };
          }
          Group group = join_or_throw(std::move(mine));
          // Where the victim comes out of it, all are in; the others may be still in it when it
          // dies.
          const auto first = group.barrier();
          demand(first || rank != victim, "the first barrier");
          *armed = true;
          survive(std::move(group), operation, count, victim);
        } catch (const std::exception& problem) {
          demand(false, problem.what());
        }
        ::_exit(0);
      }));
    }
    for (int rank = 0; rank < size; ++rank) {
      const int status = children[static_cast<std::size_t>(rank)]->wait();
      EXPECT_EQ(status, rank == victim ? -SIGKILL : 0)
          << "rank " << rank << ", " << name(operation) << ", " << size << " ranks, rank " << victim
          << " killed at step " << step;
    }
  }
};

TEST_P(LossOn, ARankThatIsKilledIsNamedAndTheOthersGoOn) {
  std::mt19937_64 random(test_seed());
  // Each operation twice: through staging, and straight out of the other process.
  test::Sample sample(2 * collective::kOperations.size());
  for (std::size_t i = 0; sample.more(); ++i) {
    const Operation operation = collective::kOperations[i / 2 % collective::kOperations.size()];
    const int size = 2 + static_cast<int>(random() % 3);
    const int victim = static_cast<int>(random() % static_cast<unsigned>(size));
    const int step = 1 + static_cast<int>(random() % 40);
    kill_at(operation, i % 2 == 0 ? 12'000 : 30'000, size, victim, step);
    if (HasFailure()) return;
  }
}

TEST_P(LossOn, ARankThatIsPausedIsExpelledAndLearnsIt) {
  constexpr int kSize = 3;
  const test::Milestone joined;
  const test::Milestone expelled;
  const test::Milestone told;
  const auto lease = [&](int rank) {
    GroupOptions mine = options(kSize, rank);
    mine.lease = std::chrono::milliseconds(700);
    return mine;
  };
  test::Child victim([&] {
    try {
      Group group = join_or_throw(lease(2));
      demand(group.barrier(), "first barrier");
      std::vector<int> one{1};
      Result<void> result = group.allreduce(one);
      joined.reach();  // all have left the barrier
      while (result) result = group.allreduce(one);
      demand(result.error().is(Errc::expelled), "another error: " + result.error().message());
      told.reach();
      demand(!group.shrink(std::chrono::seconds(5)), "it may shrink");
    } catch (const std::exception& problem) {
      demand(false, problem.what());
    }
    ::_exit(0);
  });
  std::vector<std::unique_ptr<test::Child>> others;
  for (int rank = 0; rank < 2; ++rank) {
    others.push_back(std::make_unique<test::Child>([&, rank] {
      try {
        Group group = join_or_throw(lease(rank));
        demand(group.barrier(), "first barrier");
        std::vector<int> one{1};
        Result<void> result;
        while (result) result = group.allreduce(one);
        demand(result.error().is(Errc::rank_lost), "another error: " + result.error().message());
        demand(result.error().message().find("rank 2") != std::string::npos,
               "the error does not name the rank: " + result.error().message());
        auto shrunk = demand(group.shrink(), "shrink");
        demand(shrunk.group.size() == 2, "the new group has another size");
        demand(shrunk.group.barrier(), "barrier after shrink");
        for (int i = 0; i < 100; ++i) demand(shrunk.group.allreduce(one), "allreduce after shrink");
        if (rank == 0) {
          expelled.reach();
          demand(told.wait(), "the rank that was paused did not learn it");
        }
        demand(shrunk.group.barrier(), "the last barrier");
      } catch (const std::exception& problem) {
        demand(false, problem.what());
      }
      ::_exit(0);
    }));
  }
  ASSERT_TRUE(joined.wait());
  victim.signal(SIGSTOP);
  ASSERT_TRUE(expelled.wait());
  victim.signal(SIGCONT);
  for (const auto& child : others) EXPECT_EQ(child->wait(), 0);
  EXPECT_EQ(victim.wait(), 0);
}

TEST_P(LossOn, NothingIsLeftBehind) {
  const auto shared_files = [] {
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      if (entry.path().filename().string().find("muster") != std::string::npos)
        files.insert(entry.path().string());
    return files;
  };
  const auto before = shared_files();
  kill_at(Operation::allreduce, 30'000, 3, 1, 5);
  EXPECT_EQ(shared_files(), before);
}

INSTANTIATE_TEST_SUITE_P(Planes, LossOn,
                         testing::Values(Case{Plane::shared, "auto"}, Case{Plane::network, "shm"},
                                         Case{Plane::network, "zmq"}, Case{Plane::network, "ucx"}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
