// Every algorithm for the network in groups as programs make them, forced by MUSTER_COLLECTIVES:
// with ranks that are threads, ranks that are processes, and ranks that are threads of several
// processes, each of which takes itself for a host.

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/comm/collective/choice.h"
#include "muster/comm/collective/group.h"
#include "tests/collectives/cases.h"
#include "tests/integration/collective/ranks.h"
#include "tests/support/child.h"
#include "tests/support/seed.h"
#include "tests/support/soak.h"

namespace muster::comm::collective {
namespace {

constexpr std::chrono::seconds kPatience{60};
// Of each group; whether to go on is told in between.
constexpr std::size_t kBatch = 15;
constexpr std::size_t kBatches = 2;

/// Where the ranks of a group run.
struct Placement {
  std::vector<int> process;  // of each rank
  std::vector<int> host;     // of each process

  [[nodiscard]] int size() const { return static_cast<int>(process.size()); }
  [[nodiscard]] std::vector<int> ranks_of(int of) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < size(); ++rank)
      if (process[static_cast<std::size_t>(rank)] == of) ranks.push_back(rank);
    return ranks;
  }
  [[nodiscard]] std::vector<int> hosts() const {
    std::vector<int> hosts;
    for (const int of : process) hosts.push_back(host[static_cast<std::size_t>(of)]);
    return hosts;
  }
  [[nodiscard]] bool several_hosts() const {
    return std::ranges::count(host, host.front()) != std::ssize(host);
  }
};

using Random = std::mt19937_64;

int any_below(int end, Random& random) {
  return static_cast<int>(random() % static_cast<unsigned>(end));
}

Placement as_threads_of_one(int size, Random& /*random*/) {
  return {std::vector<int>(static_cast<std::size_t>(size), 0), {0}};
}

Placement as_processes(int size, Random& random) {
  Placement placement;
  const int hosts = 1 + any_below(3, random);
  for (int rank = 0; rank < size; ++rank) {
    placement.process.push_back(rank);
    placement.host.push_back(any_below(hosts, random));
  }
  return placement;
}

Placement as_threads_of_hosts(int size, Random& random) {
  Placement placement;
  for (int rank = 0; rank < size; ++rank) placement.process.push_back(any_below(3, random));
  placement.host = {0, 1, 2};
  return placement;
}

/// The algorithm with this number, or the last, of every operation.
std::vector<const AlgorithmRow*> algorithms(std::size_t number) {
  std::vector<const AlgorithmRow*> chosen;
  for (const Operation operation : kOperations) {
    std::size_t seen = 0;
    for (const AlgorithmRow& row : algorithm_rows()) {
      if (row.operation != operation || seen++ > number) continue;
      if (seen == 1) chosen.push_back(&row);
      chosen.back() = &row;
    }
  }
  return chosen;
}

std::size_t most_algorithms() {
  std::size_t number = 0;
  while (algorithms(number) != algorithms(number + 1)) ++number;
  return number + 1;
}

std::string table_of(const std::vector<const AlgorithmRow*>& rows) {
  std::string text;
  for (const AlgorithmRow* row : rows)
    text += fmt::format("{}:*:{},", name(row->operation), row->name);
  return text;
}

/// In an order that the seed decides, with roots, and some with different counts.
std::vector<TestCase> shuffled_cases(const std::vector<const AlgorithmRow*>& rows,
                                     const Placement& placement, Random& random) {
  std::vector<TestCase> cases;
  for (const AlgorithmRow* row : rows) {
    const std::vector<TestCase> some = cases_of(*row, placement.size());
    cases.insert(cases.end(), some.begin(), some.end());
  }
  std::shuffle(cases.begin(), cases.end(), random);
  for (TestCase& test : cases) {
    complete(test, random);
    test.hosts = placement.hosts();
    if (test.row->variable && random() % 3 == 0) vary_counts(test, random);
    // As large as goes in several segments, where it does not take long.
    if (placement.size() <= 3 && random() % 10 == 0) test.count = 50'001;
  }
  return cases;
}

/// One rank's part in all cases.
class Player {
 public:
  Player(Group& group, std::uint64_t seed) : group_(group), seed_(seed) {}

  void play(const std::vector<TestCase>& cases, test::Sample sample) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (i % kBatch == 0 && !goes_on(sample)) break;
      const std::string problem = run(
          cases[i], seed_ + i, [&](const std::vector<Call>& calls) { return call(calls, i); },
          group_.rank());
      if (!problem.empty())
        throw std::runtime_error(
            fmt::format("{}: {}, seed {}, case {}", problem, cases[i].text(), seed_, i));
    }
    require(group_.barrier({.timeout = kPatience}));
  }

 private:
  /// Rank 0 decides, so that all play as many.
  bool goes_on(test::Sample& sample) {
    std::array<int, 1> more = {group_.rank() == 0 && sample.more() ? 1 : 0};
    require(group_.broadcast(more, 0, {.tag = 9, .timeout = kPatience}));
    return more[0] != 0;
  }

  std::string call(const std::vector<Call>& calls, std::size_t i) {
    const Call& own = calls[static_cast<std::size_t>(group_.rank())];
    const CallOptions options = {.tag = static_cast<int>(i % 3), .timeout = kPatience};
    auto handle = i % 4 == 0 ? group_.start(own, options) : Result<Handle>(Handle());
    if (!handle) return handle.error().message();
    const auto result = i % 4 == 0 ? handle->wait(kPatience) : group_.run(own, options);
    return result ? "" : result.error().message();
  }

  Group& group_;
  std::uint64_t seed_;
};

void expect_that_the_table_chooses(const std::vector<TestCase>& cases) {
  const ChoiceTable table = ChoiceTable::from_environment().value();
  for (std::size_t i = 0; i < std::min(cases.size(), kBatch * kBatches); ++i) {
    const std::byte anywhere{};
    const Call call = cases[i].call(0, &anywhere, nullptr);
    EXPECT_EQ(&table.choose(call, {0, cases[i].size, cases[i].hosts}), cases[i].row)
        << cases[i].text();
  }
}

struct Form {
  const char* name;
  Placement (*place)(int size, Random& random);
};

class GroupAlgorithm : public testing::TestWithParam<Form> {
 protected:
  void play(std::size_t number, int size, std::uint64_t seed, const test::Sample& sample) {
    Random random(seed);
    const Placement placement = GetParam().place(size, random);
    const auto rows = algorithms(number);
    ::setenv("MUSTER_COLLECTIVES", table_of(rows).c_str(), 1);
    const std::vector<TestCase> cases = shuffled_cases(rows, placement, random);
    expect_that_the_table_chooses(cases);

    const Meeting meeting;
    std::vector<std::unique_ptr<test::Child>> children;
    for (std::size_t process = 0; process < placement.host.size(); ++process) {
      children.push_back(std::make_unique<test::Child>([&] {
        ::setenv("MUSTER_HOST_ID", fmt::format("host{}", placement.host[process]).c_str(), 1);
        const std::vector<int> ranks = placement.ranks_of(static_cast<int>(process));
        as_threads(static_cast<int>(ranks.size()), [&](int thread) {
          GroupOptions options = meeting.options(size, ranks[static_cast<std::size_t>(thread)]);
          options.plane = Plane::network;
          if (placement.several_hosts()) {
            options.driver = "zmq";
            // Nobody connects to another host's 127.0.0.1.
            options.driver_options = {{"zmq.advertise", "localhost"}};
          }
          try {
            Group group = join_or_throw(options);
            Player(group, seed).play(cases, sample);
          } catch (const std::exception& problem) {
            std::cerr << fmt::format("rank {} of {}: {}\n", *options.rank, size, problem.what());
            ::_exit(1);
          }
        });
      }));
    }
    for (const auto& child : children) EXPECT_EQ(child->wait(), 0) << "seed " << seed;
  }
};

TEST_P(GroupAlgorithm, GivesWhatAPlainReferenceGives) {
  const std::uint64_t seed = test_seed();
  const bool all = std::getenv("MUSTER_SOAK_SECONDS") != nullptr;
  Random random(seed);
  const auto tables = most_algorithms();
  for (std::size_t number = 0; number < tables; ++number) {
    std::vector<int> sizes = {1 + any_below(kMostTestedRanks, random)};
    if (all) {
      sizes.resize(kMostTestedRanks);
      std::iota(sizes.begin(), sizes.end(), 1);
    }
    const auto parts = static_cast<int>(tables * sizes.size());
    for (const int size : sizes) play(number, size, random(), test::Sample(kBatches, parts));
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, GroupAlgorithm,
                         testing::Values(Form{"threads", as_threads_of_one},
                                         Form{"processes", as_processes},
                                         Form{"hosts", as_threads_of_hosts}),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace muster::comm::collective
