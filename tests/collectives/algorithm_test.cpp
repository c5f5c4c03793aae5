#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/algorithm/registry.h"
#include "muster/comm/collective/schedule_runner.h"
#include "tests/collectives/cases.h"
#include "tests/support/collective_network.h"
#include "tests/support/seed.h"

namespace muster::comm::collective {
namespace {

std::vector<TestCase> all_cases() {
  std::vector<TestCase> cases;
  for (const AlgorithmRow& row : algorithm_rows())
    for (int size = 1; size <= kMostTestedRanks; ++size) {
      const std::vector<TestCase> some = cases_of(row, size);
      cases.insert(cases.end(), some.begin(), some.end());
    }
  return cases;
}

std::size_t sample_size() {
  const char* const text = std::getenv("MUSTER_COLLECTIVE_CASES");
  return text == nullptr ? 4000 : std::strtoull(text, nullptr, 10);
}

TEST(CollectiveAlgorithm, GivesWhatAPlainReferenceGives) {
  const std::uint64_t seed = test_seed();
  std::vector<TestCase> cases = all_cases();
  std::mt19937_64 random(seed);
  std::shuffle(cases.begin(), cases.end(), random);
  cases.resize(std::min(cases.size(), sample_size()));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    TestCase& test = cases[i];
    complete(test, random);
    ASSERT_EQ(run(test, seed + i), "") << test.text() << ", seed " << seed + i;
  }
  std::cout << cases.size() << " cases\n";
}

TEST(CollectiveAlgorithm, TakesDifferentCountsWhereItSaysSo) {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (const AlgorithmRow& row : algorithm_rows()) {
    if (!row.variable) continue;
    for (int i = 0; i < 100; ++i) {
      TestCase test;
      test.row = &row;
      test.element = kElements[random() % kElements.size()];
      test.size = 1 + i % kMostTestedRanks;
      test.count = std::array<std::size_t, 5>{0, 1, 3, 33, 1000}[random() % 5];
      test.in_place = row.operation != Operation::all_to_all && i % 2 == 0;
      complete(test, random);
      vary_counts(test, random);
      ASSERT_EQ(run(test, seed), "") << test.text();
    }
  }
}

TEST(CollectiveAlgorithm, PipelinesLargeMessages) {
  for (const AlgorithmRow& row : algorithm_rows())
    for (const int size : {2, 3, 4})
      for (const bool in_place : {false, true}) {
        TestCase test;
        test.row = &row;
        test.element = Element::u16;
        test.size = size;
        test.count =
            is_rooted(row.operation) || row.operation == Operation::allreduce ? 600'001 : 300'001;
        test.in_place = in_place;
        std::mt19937_64 random(1);
        complete(test, random);
        ASSERT_EQ(run(test, 1), "") << test.text();
      }
}

TEST(CollectiveAlgorithm, FirstOfEveryOperationTakesEveryCall) {
  for (const Operation operation : kOperations) {
    const AlgorithmRow* first = nullptr;
    for (const AlgorithmRow& row : algorithm_rows())
      if (first == nullptr && row.operation == operation) first = &row;
    ASSERT_NE(first, nullptr);
    EXPECT_TRUE(first->ordered) << name(operation);
    EXPECT_FALSE(first->needs_hosts) << name(operation);
    EXPECT_EQ(first->variable, has_variable_form(operation)) << name(operation);
  }
}

// The ring moves the least that an allreduce can.
TEST(CollectiveAlgorithm, SendsTheBytesThatItSays) {
  const auto sent = [](Operation operation, std::string_view algorithm, int rank) {
    Call call;
    call.operation = operation;
    call.element = Element::f32;
    call.count = 1200;
    std::size_t bytes = 0;
    for (const Round& round :
         build(*find_algorithm(operation, algorithm), call, {rank, 4, {}}).rounds)
      for (const Send& send : round.sends) bytes += send.data.bytes;
    return bytes;
  };
  EXPECT_EQ(sent(Operation::allreduce, "ring", 1), 2u * 4800 * 3 / 4);
  EXPECT_EQ(sent(Operation::allreduce, "rabenseifner", 1), 2u * 4800 * 3 / 4);
  EXPECT_EQ(sent(Operation::allreduce, "recursive_doubling", 1), 2u * 4800);
  EXPECT_EQ(sent(Operation::allgather, "bruck", 1), 3u * 4800);
  EXPECT_EQ(sent(Operation::reduce_scatter, "ring", 1), 3u * 4800);
  EXPECT_EQ(sent(Operation::broadcast, "binomial", 0), 2u * 4800);
}

/// What goes from host to host in one call.
struct Crossing {
  std::size_t bytes = 0;
  int messages = 0;
  std::map<int, std::set<int>> speakers;  // of each host, the ranks that send or receive it
};

Crossing crossing(const AlgorithmRow& row, std::size_t count, const std::vector<int>& hosts) {
  Call call;
  call.operation = row.operation;
  call.element = Element::u8;
  call.count = count;
  call.root = 4;
  Crossing result;
  const int size = static_cast<int>(hosts.size());
  for (int rank = 0; rank < size; ++rank)
    for (const Round& round : build(row, call, {rank, size, hosts}).rounds)
      for (const Send& send : round.sends) {
        const int from = hosts[static_cast<std::size_t>(rank)];
        const int to = hosts[static_cast<std::size_t>(send.to)];
        if (from == to || send.data.bytes == 0) continue;
        result.bytes += send.data.bytes;
        ++result.messages;
        result.speakers[from].insert(rank);
        result.speakers[to].insert(send.to);
      }
  return result;
}

TEST(CollectiveAlgorithm, OfTwoLevelsLetsOneRankOfEachHostSpeakWithTheOtherHosts) {
  for (const AlgorithmRow& row : algorithm_rows()) {
    if (!row.needs_hosts) continue;
    for (const std::size_t count : {std::size_t{3}, std::size_t{100'000}}) {
      const Crossing across = crossing(row, count, {0, 1, 2, 0, 1, 2, 1});
      EXPECT_EQ(across.speakers.size(), 3u) << name(row.operation);
      for (const auto& [host, ranks] : across.speakers)
        EXPECT_EQ(ranks.size(), 1u) << name(row.operation) << " of " << count << ", host " << host;
    }
  }
}

TEST(CollectiveAlgorithm, OfTwoLevelsCrossesBetweenHostsWithNoMoreThanItMust) {
  const std::vector<int> hosts = {0, 1, 2, 0, 1, 2, 1};
  const auto across = [&](Operation operation) {
    return crossing(*find_algorithm(operation, "two_level"), 10, hosts);
  };
  // Host 1 has the root and three of the seven ranks.
  EXPECT_EQ(across(Operation::scatter).messages, 2);
  EXPECT_EQ(across(Operation::scatter).bytes, 4u * 10);
  EXPECT_EQ(across(Operation::gather).messages, 2);
  EXPECT_EQ(across(Operation::gather).bytes, 4u * 10);
  EXPECT_EQ(across(Operation::reduce_scatter).messages, 6);
  EXPECT_EQ(across(Operation::reduce_scatter).bytes, 2u * 7 * 10);
  EXPECT_EQ(across(Operation::all_to_all).messages, 6);
  EXPECT_EQ(across(Operation::all_to_all).bytes, 2u * (2 * 3 + 2 * 2 + 3 * 2) * 10);
}

TEST(CollectiveAlgorithm, OfARingLeavesEachHostOnceInEveryStep) {
  const std::vector<int> hosts = {0, 1, 2, 0, 1, 2, 1};
  constexpr int kSteps = 6;
  for (const Operation operation :
       {Operation::allgather, Operation::reduce_scatter, Operation::allreduce}) {
    const int times = operation == Operation::allreduce ? 2 : 1;
    EXPECT_EQ(crossing(*find_algorithm(operation, "ring"), 70, hosts).messages, times * kSteps * 3)
        << name(operation);
  }
}

TEST(CollectiveAlgorithm, ReduceScatterOfTwoLevelsTakesFewMessagesBetweenManyHosts) {
  constexpr int kHosts = 64;
  std::vector<int> hosts;
  for (int rank = 0; rank < 2 * kHosts; ++rank) hosts.push_back(rank / 2);
  const AlgorithmRow& row = *find_algorithm(Operation::reduce_scatter, "two_level");
  for (const std::size_t count : {std::size_t{1}, std::size_t{512}, std::size_t{10'000}})
    EXPECT_EQ(crossing(row, count, hosts).messages, kHosts * 6) << count;
}

TEST(CollectiveAlgorithm, AllgatherOfTwoLevelsTakesFewRoundsBetweenManyHosts) {
  std::vector<int> hosts;
  for (int rank = 0; rank < 128; ++rank) hosts.push_back(rank / 2);
  Call call;
  call.operation = Operation::allgather;
  call.count = 100;
  const Schedule schedule =
      build(*find_algorithm(Operation::allgather, "two_level"), call, {0, 128, hosts});
  EXPECT_LT(schedule.rounds.size(), 8u);
}

std::size_t copies(const Schedule& schedule) {
  std::size_t count = 0;
  for (const Round& round : schedule.rounds) count += round.meanwhile.size() + round.then.size();
  return count;
}

// All ranks wait for the leader, who makes its schedule anew for every call.
TEST(CollectiveAlgorithm, OfTwoLevelsMovesManyBlocksWithFewCopies) {
  constexpr int kHosts = 4;
  constexpr int kSize = 32;
  const auto leaders_copies = [](Operation operation, auto host_of) {
    std::vector<int> hosts;
    for (int rank = 0; rank < kSize; ++rank) hosts.push_back(host_of(rank));
    Call call;
    call.operation = operation;
    call.count = 3;
    return copies(build(*find_algorithm(operation, "two_level"), call, {0, kSize, hosts}));
  };
  const auto in_turns = [](int rank) { return rank % kHosts; };
  const auto in_a_row = [](int rank) { return rank / (kSize / kHosts); };
  const auto anyhow = [](int rank) { return rank * rank % 7 % kHosts; };
  const auto beside_loners = [](int rank) { return rank < kSize / 2 ? 0 : rank; };
  // And in and out of the places where the leader works, and its own block.
  constexpr std::size_t kBeside = 3;
  EXPECT_LE(leaders_copies(Operation::all_to_all, in_a_row), kSize + kHosts + kBeside);
  EXPECT_LE(leaders_copies(Operation::all_to_all, in_turns), 2 * kSize + kBeside);
  EXPECT_LE(leaders_copies(Operation::all_to_all, anyhow), 2 * kSize + kBeside);
  EXPECT_LE(leaders_copies(Operation::all_to_all, beside_loners), 2 * kSize + kBeside);
  for (const Operation operation :
       {Operation::scatter, Operation::gather, Operation::allgather, Operation::reduce_scatter})
    EXPECT_LT(leaders_copies(operation, in_a_row), kSize / 2) << name(operation);
}

}  // namespace
}  // namespace muster::comm::collective
