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

/// One rank's part of all calls; returns what went wrong, or nothing.
std::string call_all(SharedPlane& plane, std::uint64_t seed, int rank, int size) {
  constexpr std::uint64_t kCalls = 600;
  Calls calls(seed, size);
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    const TestCase test = calls.next();
    const std::string problem = run(
        test, seed + i,
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

// ThreadSanitizer sees here what it cannot see between processes.
TEST(SharedPlaneRaces, NoRankTouchesWhatAnotherIsWriting) {
  const std::uint64_t seed = test_seed();
  for (const int size : {2, 3, 4}) {
    const FileDescriptor fd = segment_for(size);
    std::vector<std::shared_ptr<SharedPlane>> planes;
    for (int rank = 0; rank < size; ++rank) {
      SharedPlane::Options options;
      const auto beside = planes.empty() ? nullptr : planes.front()->segment().shared_from_this();
      planes.push_back(plane_of(fd.get(), rank, size, options, beside));
    }
    std::vector<std::string> problems(static_cast<std::size_t>(size));
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, at = static_cast<std::size_t>(rank)] {
        problems[at] = call_all(*planes[at], seed, static_cast<int>(at), size);
      });
    threads.clear();
    for (const std::string& problem : problems)
      EXPECT_EQ(problem, "") << size << " ranks, seed " << seed;
  }
}

}  // namespace
}  // namespace muster::comm::collective::shared
