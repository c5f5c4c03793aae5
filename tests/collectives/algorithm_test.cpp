#include <cstdlib>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/algorithm/registry.h"
#include "muster/comm/collective/schedule_runner.h"
#include "tests/collectives/test_case.h"
#include "tests/support/collective_network.h"
#include "tests/support/seed.h"

namespace muster::comm::collective {
namespace {

constexpr int kMostRanks = 9;
constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 16, 33, 100, 1000};

Reduction reduction_of(int kind) {
  return kind == 8 ? composition() : Reduction(static_cast<ReductionKind>(kind));
}

bool exists(const AlgorithmRow& row, Element element, int kind) {
  if (!is_reducing(row.operation)) return kind == 0;
  if (kind == 8) return row.ordered && element == Element::u64;
  return scalar::kernel(static_cast<ReductionKind>(kind), element) != nullptr &&
         (kind != static_cast<int>(ReductionKind::mean) || !is_integer(element));
}

/// Fills in what the product of cases leaves open.
void complete(TestCase& test, std::mt19937_64& random) {
  test.root = static_cast<int>(random() % static_cast<unsigned>(test.size));
  if (test.row->needs_hosts) {
    const unsigned hosts = 1 + static_cast<unsigned>(random() % 4);
    for (int rank = 0; rank < test.size; ++rank)
      test.hosts.push_back(static_cast<int>(random() % hosts));
  }
}

void vary_counts(TestCase& test, std::mt19937_64& random) {
  const auto any = [&] { return random() % (test.count + 1); };
  if (test.operation() == Operation::all_to_all) {
    test.matrix.resize(static_cast<std::size_t>(test.size));
    for (auto& row : test.matrix)
      for (int to = 0; to < test.size; ++to) row.push_back(any());
  } else {
    for (int rank = 0; rank < test.size; ++rank) test.counts.push_back(any());
  }
}

std::vector<TestCase> all_cases() {
  std::vector<TestCase> cases;
  for (const AlgorithmRow& row : algorithm_rows())
    for (const Element element : kElements)
      for (int kind = 0; kind <= 8; ++kind) {
        if (!exists(row, element, kind)) continue;
        for (int size = 1; size <= kMostRanks; ++size)
          for (const std::size_t count : kCounts)
            for (const bool in_place : {false, true}) {
              TestCase test;
              test.row = &row;
              test.element = element;
              test.reduction = reduction_of(kind);
              test.size = size;
              test.count = count;
              test.in_place = in_place;
              cases.push_back(test);
            }
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
      test.size = 1 + i % kMostRanks;
      test.count = kCounts[random() % std::size(kCounts)];
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
    const bool has_variable_form = operation == Operation::scatter ||
                                   operation == Operation::gather ||
                                   operation >= Operation::allgather;
    EXPECT_EQ(first->variable, has_variable_form) << name(operation);
  }
}

// The ring moves the least that an allreduce can, and two levels cross between hosts once per host.
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

}  // namespace
}  // namespace muster::comm::collective
