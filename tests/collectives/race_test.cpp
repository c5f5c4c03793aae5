#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "muster/comm/collective/shared/plane.h"
#include "tests/collectives/cases.h"
#include "tests/collectives/planes.h"
#include "tests/support/seed.h"

namespace muster::comm::collective::shared {
namespace {

// In most calls that follow each other the same ranks give, so that they run ahead of the others.
constexpr int kInARow = 80;

using collective::Operation;

/// What a rank calls: the same on all of them.
class Calls {
 public:
  Calls(std::uint64_t seed, int size) : random_(seed), size_(size) {}

  TestCase next() {
    if (left_-- == 0) {
      left_ = static_cast<int>(random_() % kInARow);
      usual_ = any_case(random_, size_);
    }
    TestCase test = usual_;
    test.counts.clear();
    test.matrix.clear();
    const std::size_t fitting = kInlineBytes / item_size(test.element) + 3;
    test.count = random_() % 8 == 0 ? random_() % 20'000 : random_() % fitting;
    return test;
  }

 private:
  std::mt19937_64 random_;
  int size_;
  TestCase usual_;
  int left_ = 0;
};

/// Large calls, which use few slots of staging where all give and take, between smaller ones.
class LargeCalls {
 public:
  LargeCalls(std::uint64_t seed, int size) : random_(seed), size_(size) {}

  TestCase next() {
    constexpr std::array kUsed = {Operation::allreduce, Operation::allgather,
                                  Operation::reduce_scatter, Operation::all_to_all,
                                  Operation::broadcast};
    TestCase test;
    test.row = any_row(kUsed[random_() % kUsed.size()]);
    test.element = Element::u64;
    test.size = size_;
    test.count = random_() % 2 == 0 ? kFewSlotsFrom / 8 + random_() % 20'000 : random_() % 40'000;
    test.in_place = random_() % 2 == 0;
    return test;
  }

 private:
  std::mt19937_64 random_;
  int size_;
};

/// One rank's part of so many calls; returns what went wrong, or nothing.
template <class Made>
std::string call_all(SharedPlane& plane, int count, std::uint64_t seed, int rank, int size) {
  Made calls(seed, size);
  for (int i = 0; i < count; ++i) {
    const TestCase test = calls.next();
    const std::string problem = run(
        test, seed + static_cast<std::uint64_t>(i),
        [&](const std::vector<Call>& all) -> std::string {
          const Call& own = all[static_cast<std::size_t>(rank)];
          const auto result = plane.run(own, 0, std::chrono::seconds(60));
          return result ? "" : result.error().message();
        },
        rank);
    if (!problem.empty()) return fmt::format("{}: {}, call {}", problem, test.text(), i);
  }
  return "";
}

/// Threads as ranks make so many calls together, which all of them make up from the same seed.
template <class Made>
void race(int size, int count, const Ways& ways) {
  const std::uint64_t seed = test_seed();
  const FileDescriptor fd = segment_for(size);
  std::vector<std::shared_ptr<SharedPlane>> planes;
  for (int rank = 0; rank < size; ++rank) {
    SharedPlane::Options options;
    options.ways = ways;
    const auto beside = planes.empty() ? nullptr : planes.front()->segment().shared_from_this();
    planes.push_back(plane_of(fd.get(), rank, size, options, beside));
  }
  std::vector<std::string> problems(static_cast<std::size_t>(size));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, at = static_cast<std::size_t>(rank)] {
      problems[at] = call_all<Made>(*planes[at], count, seed, static_cast<int>(at), size);
    });
  threads.clear();
  for (const std::string& problem : problems)
    EXPECT_EQ(problem, "") << size << " ranks, seed " << seed;
}

// ThreadSanitizer sees here what it cannot see between processes.
TEST(SharedPlaneRaces, NoRankTouchesWhatAnotherIsWriting) {
  for (const int size : {2, 3, 4}) race<Calls>(size, 600, SharedPlane::Options().ways);
}

TEST(SharedPlaneRaces, NorWhereTheTableSaysTheWay) {
  for (const char* const way : {"stage", "stream"})
    for (const int size : {2, 3}) race<Calls>(size, 300, ways_by_table(way));
}

TEST(SharedPlaneRaces, NorInLargeCalls) {
  for (const char* const way : {"stage", "stream"})
    for (const int size : {2, 3}) race<LargeCalls>(size, 8, ways_by_table(way));
}

}  // namespace
}  // namespace muster::comm::collective::shared
