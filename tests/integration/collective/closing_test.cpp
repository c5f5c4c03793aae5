#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "muster/comm/errc.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/group_memory.h"
#include "tests/integration/collective/processes.h"
#include "tests/integration/collective/ranks.h"
#include "tests/support/child.h"

// What is left of a group that was closed and not destroyed.

namespace muster::comm {
namespace {

constexpr Duration kSoon = std::chrono::seconds(30);

std::size_t entries(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Whether it is more than what the kernel has to tidy up yet: that may be there for a moment after
/// the thread was joined.
bool thread_lives(const std::filesystem::path& thread) {
  constexpr unsigned kExiting = 4;  // PF_EXITING
  std::ifstream stat(thread / "stat");
  stat.ignore(4096, ')');  // a name has none
  std::string word;
  for (int words = 0; words < 6; ++words) stat >> word;  // state, parent … terminal's group
  unsigned flags = kExiting;
  stat >> flags;
  return stat && (flags & kExiting) == 0;
}

std::size_t living_threads() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<std::size_t>(std::count_if(begin(all), end(all), thread_lives));
}

std::size_t mapped_files_of_groups() {
  std::ifstream maps("/proc/self/maps");
  std::size_t lines = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("muster-group") != std::string::npos) ++lines;
  return lines;
}

/// What a process has of what a group takes.
struct Possessions {
  std::size_t threads = living_threads();
  std::size_t descriptors = entries("/proc/self/fd");
  std::size_t maps = mapped_files_of_groups();

  bool operator==(const Possessions&) const = default;
  [[nodiscard]] std::string text() const {
    return fmt::format("{} threads, {} descriptors, {} maps", threads, descriptors, maps);
  }
};

void demand_has(const Possessions& expected, const std::string& when) {
  const Possessions now;
  demand(now == expected, fmt::format("{}: {}, not {}", when, now.text(), expected.text()));
}

/// The same, where the thread in the background lets go.
void demand_has_soon(const Possessions& expected, const std::string& when) {
  const TimePoint deadline = std::chrono::steady_clock::now() + kSoon;
  while (Possessions() != expected && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  demand_has(expected, when);
}

void add(Group& group) {
  std::vector<int> data(1000, 1);
  demand(group.allreduce(data, {}, {.timeout = kSoon}), "allreduce");
  demand(data.back() == group.size(), "another sum");
}

void demand_closed(const Result<void>& result, const std::string& what) {
  demand(!result && result.error().is(Errc::closed),
         fmt::format("{}: {}", what, result ? "went well" : result.error().message()));
}

// UCX before 1.14 may abort the process when its peer leaves while the two connect.
constexpr int kRoundsOnUcx = 1;

class ClosingOn : public OnPlanes {
 protected:
  Group join(int rank) const { return join_or_throw(options(2, rank)); }

  /// What this process has without a group. What stays for the next one (of libraries) is there.
  [[nodiscard]] Possessions without_group(int rank) const {
    {
      Group first = join(rank);
      add(first);
    }
    return {};
  }
};

TEST_P(ClosingOn, LetsGoOfThreadsMemoryAndDescriptors) {
  as_processes(2, [&](int rank) {
    const Possessions before = without_group(rank);
    Group group = join(rank);
    add(group);
    std::vector<int> data(1000, 1);
    Handle done = demand(group.iallreduce(data), "iallreduce");
    demand(done.wait(kSoon), "wait");
    Handle open = demand(group.irecv(1 - rank, data), "irecv");
    group.close();
    demand_has(before, "closed");
    // What the program still has says what it said, and no more.
    demand(done.wait(kSoon), "the call that was over");
    demand(!open.wait(kSoon), "the call that was not went well");
    demand_closed(group.barrier({.timeout = kSoon}), "a call");
    demand_closed(group.barrier({.tag = 3, .timeout = kSoon}), "a call with a tag");
    demand(!group.agree(1, kSoon) && !group.allocate(8) && !group.split(0), "it goes on");
    demand(group.rank() == rank && group.size() == 2, "it forgot itself");
    // The other one may have left before.
    demand(group.lost().size() <= 1, "it lost itself");
    group.close();
  });
}

// The thread in the background carries it on, and must not be the one that is left.
TEST_P(ClosingOn, LetsGoWhileACallWaitsThatWasStarted) {
  as_processes(2, [&](int rank) {
    const Possessions before = without_group(rank);
    const int rounds = GetParam().driver == "ucx" ? kRoundsOnUcx : 20;
    for (int round = 0; round < rounds; ++round) {
      Group group = join(rank);
      add(group);
      std::vector<int> data(1000, 1);
      std::optional<Handle> open;
      if (rank == 0) {
        open = demand(group.iallreduce(data), "iallreduce");
        demand(group.send(1, data, {.timeout = kSoon}), "send");
      } else {
        demand(group.recv(0, data, {.timeout = kSoon}), "recv");
        static_cast<void>(group.barrier({.tag = 3, .timeout = kSoon}));  // until it has left
      }
      group.close();
      demand_has(before, fmt::format("round {}", round));
    }
  });
}

TEST_P(ClosingOn, LeavesWhatGroupsMadeFromItNeed) {
  as_processes(2, [&](int rank) {
    const Possessions before = without_group(rank);
    Group group = join(rank);
    Group part = demand(group.split(0), "split");
    group.close();
    add(part);
    part.close();
    demand_has(before, "closed");
  });
}

TEST_P(ClosingOn, LeavesMemoryThatTheProgramHas) {
  as_processes(2, [&](int rank) {
    const Possessions before = without_group(rank);
    Group group = join(rank);
    auto memory = demand(group.allocate(100'000), "allocate");
    std::ranges::fill(memory.bytes, std::byte{7});
    add(group);
    group.close();
    demand(std::ranges::count(memory.bytes, std::byte{7}) == 100'000, "other bytes are there");
    memory = {};
    demand_has(before, "closed");
  });
}

TEST_P(ClosingOn, LetsGoWhenTheFunctionIsOverThatClosesIt) {
  as_processes(2, [&](int rank) {
    const Possessions before = without_group(rank);
    Group group = join(rank);
    std::vector<int> data(4, 1);
    const auto function = [&](std::byte*, const std::byte*, std::size_t) { group.close(); };
    static_cast<void>(
        group.allreduce(data, collective::Reduction::of(function), {.timeout = kSoon}));
    group.close();
    demand_has_soon(before, "closed");
  });
}

TEST_P(ClosingOn, EndsTheCallsOfOtherThreads) {
  as_processes(2, [&](int rank) {
    const Possessions before = without_group(rank);
    Group group = join(rank);
    const Errc expected = rank == 0 ? Errc::closed : Errc::rank_lost;
    std::atomic<int> called{0};
    std::vector<std::thread> threads;
    for (int tag = 0; tag < 3; ++tag)
      threads.emplace_back([&, tag] {
        std::vector<int> data(4, 1);
        Result<void> result;
        for (; result; ++called) result = group.allreduce(data, {}, {.tag = tag, .timeout = kSoon});
        demand(result.error().is(expected), result.error().message());
      });
    while (rank == 0 && called < 300) std::this_thread::yield();
    if (rank == 0) group.close();
    for (std::thread& thread : threads) thread.join();
    group.close();
    demand_has(before, "closed");
  });
}

/// In memory a call can hold up the end of a group, by the function that combines its items.
class ClosingInMemory : public ClosingOn {
 protected:
  /// One of two ranks does something, while another thread of it closes the group and waits for a
  /// call.
  template <class Do>
  static void while_closing(Group& group, Do act) {
    std::latch is_called(1);
    std::latch may_return(1);
    std::thread reduces([&] {
      static_cast<void>(reduce(group, [&] {
        is_called.count_down();
        may_return.wait();
      }));
    });
    is_called.wait();
    std::vector<Handle> handles;
    const auto start = [&] {
      auto started = group.ibarrier({.tag = 2});
      const bool goes_on = started.has_value();
      if (goes_on) handles.push_back(*std::move(started));
      return goes_on;
    };
    demand(start(), "start");
    std::thread closes([&] { group.close(); });
    const TimePoint deadline = std::chrono::steady_clock::now() + kSoon;
    while (start() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    act();
    handles.clear();
    may_return.count_down();
    reduces.join();
    closes.join();
  }
  /// A call whose function only rank 1 runs.
  static Result<void> reduce(Group& group, const std::function<void()>& act) {
    std::vector<int> item(1, 1);
    std::vector<int> sum(1);
    const auto function = [&](std::byte*, const std::byte*, std::size_t) { act(); };
    return group.reduce(item, sum, collective::Reduction::of(function), 1, {.timeout = kSoon});
  }
};

// Who lets go of them may do so because the group is closed: the others are to hear that it left.
TEST_P(ClosingInMemory, GivesUpNothingForTheOthersWhenHandlesAreLetGoMeanwhile) {
  as_processes(2, [&](int rank) {
    Group group = join(rank);
    if (rank == 1) return while_closing(group, [] {});
    static_cast<void>(reduce(group, [] {}));
    const auto result = group.barrier({.tag = 1, .timeout = kSoon});
    demand(!result && result.error().is(Errc::rank_lost),
           result ? "went well" : result.error().message());
  });
}

TEST_P(ClosingInMemory, ACallByMessagesThatIsGivenUpMeanwhileTouchesMemoryNoMore) {
  const test::Milestone given_up;
  as_processes(2, [&](int rank) {
    Group group = join(rank);
    // These have channels in memory, and those of other tags go by messages.
    for (int tag = 1; tag < 16; ++tag) demand(group.barrier({.tag = tag}), "barrier");
    constexpr int kByMessages = 100;
    std::vector<int> data(4, 1);
    std::vector<int> sums(4);
    if (rank == 0) {
      static_cast<void>(reduce(group, [] {}));
      demand(given_up.wait(), "the other gives up");
      const auto result = group.allreduce(data, sums, {}, {.tag = kByMessages, .timeout = kSoon});
      return demand(!result || sums == std::vector<int>(4, 2), "it is right");
    }
    Handle handle = demand(group.iallreduce(data, sums, {}, {.tag = kByMessages}), "start");
    while_closing(group, [&] {
      handle.cancel();
      data.assign(4, 999);
      given_up.reach();
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      demand(sums == std::vector<int>(4), "its result is not written");
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Planes, ClosingOn, kEveryPlane, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Planes, ClosingInMemory, kInMemory, testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
