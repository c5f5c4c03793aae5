#include <cstdlib>
#include <iostream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/comm/collective/shared/plane.h"
#include "tests/collectives/test_case.h"
#include "tests/support/child.h"
#include "tests/support/seed.h"
#include "tests/support/soak.h"

namespace muster::comm::collective::shared {
namespace {

using collective::Operation;

constexpr int kMostRanks = 9;
// Around what fits into a line, a step, a share of a step, and a ring of steps.
constexpr std::size_t kCounts[] = {0,    1,    2,    3,    5,     7,     9,     33,
                                   1000, 4097, 8192, 8193, 16385, 40000, 65537, 150001};

std::shared_ptr<SharedPlane> plane_of(int fd, int rank, int ranks, bool lends = false) {
  auto segment = Segment::map(FileDescriptor(::dup(fd)), rank, ranks);
  if (!segment) throw std::runtime_error(segment.error().message());
  SharedPlane::Options options;
  options.group = "test";
  options.lends = lends;
  return std::make_shared<SharedPlane>(*segment, std::move(options));
}

FileDescriptor segment_for(int ranks) {
  auto fd = Segment::create(ranks);
  if (!fd) throw std::runtime_error(fd.error().message());
  return *std::move(fd);
}

/// The planes of a group whose ranks are threads.
class Ranks {
 public:
  Ranks(int ranks, bool lends) : fd_(segment_for(ranks)) {
    for (int rank = 0; rank < ranks; ++rank)
      planes_.push_back(plane_of(fd_.get(), rank, ranks, lends));
  }

  std::string run(const std::vector<Call>& calls, int tag, bool started) {
    std::vector<std::string> problems(calls.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < calls.size(); ++rank) {
      threads.emplace_back([&, rank] {
        const auto result = one(*planes_[rank], calls[rank], tag, started);
        if (!result) problems[rank] = fmt::format("rank {}: {}", rank, result.error().message());
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& problem : problems)
      if (!problem.empty()) return problem;
    return "";
  }

  static Result<void> one(SharedPlane& plane, const Call& call, int tag, bool started) {
    if (!started) return plane.run(call, tag, std::chrono::seconds(60));
    auto state = plane.start(call, tag);
    if (!state) return fail(state.error());
    return (*state)->wait(std::chrono::seconds(60));
  }

 private:
  FileDescriptor fd_;
  std::vector<std::shared_ptr<SharedPlane>> planes_;
};

const AlgorithmRow* any_row(Operation operation) {
  for (const AlgorithmRow& row : algorithm_rows())
    if (row.operation == operation && row.ordered) return &row;
  return nullptr;
}

TestCase any_case(std::mt19937_64& random, int size) {
  TestCase test;
  const Operation operation = kOperations[random() % kOperations.size()];
  test.row = any_row(operation);
  test.size = size;
  test.root = static_cast<int>(random() % static_cast<unsigned>(size));
  test.in_place = random() % 2 == 0;
  test.count = kCounts[random() % std::size(kCounts)];
  if (size > 4 && test.count > 20000 && random() % 4 != 0) test.count /= 8;
  do {
    test.element = kElements[random() % kElements.size()];
    const auto kind = static_cast<ReductionKind>(random() % 9);
    test.reduction = kind == ReductionKind::user ? composition() : Reduction(kind);
    if (kind == ReductionKind::user) test.element = Element::u64;
  } while (is_reducing(operation) && test.reduction.kind != ReductionKind::user &&
           (scalar::kernel(test.reduction.kind, test.element) == nullptr ||
            (test.reduction.kind == ReductionKind::mean && is_integer(test.element))));
  if (!is_reducing(operation)) test.reduction = {};
  const bool has_variable_form = operation == Operation::scatter ||
                                 operation == Operation::gather ||
                                 operation >= Operation::allgather;
  if (!has_variable_form || random() % 3 != 0) return test;
  const auto any = [&] { return random() % (test.count + 1); };
  if (operation == Operation::all_to_all) {
    test.in_place = false;
    test.matrix.resize(static_cast<std::size_t>(size));
    for (auto& row : test.matrix)
      for (int to = 0; to < size; ++to) row.push_back(any());
  } else {
    for (int rank = 0; rank < size; ++rank) test.counts.push_back(any());
  }
  return test;
}

// For processes, which must all draw as many.
std::size_t sample_size() { return std::getenv("MUSTER_SOAK_SECONDS") == nullptr ? 150 : 1500; }

TEST(SharedPlane, GivesWhatAPlainReferenceGivesToThreads) {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (int size = 2; size <= kMostRanks; ++size) {
    Ranks ranks(size, size % 2 == 0);
    test::Sample sample(150, kMostRanks - 1);
    for (std::size_t i = 0; sample.more(); ++i) {
      const TestCase test = any_case(random, size);
      const int tag = random() % 4 == 0 ? 1 + static_cast<int>(random() % 5) : 0;
      const bool started = random() % 4 == 0;
      ASSERT_EQ(run(test, seed + i,
                    [&](const std::vector<Call>& calls) { return ranks.run(calls, tag, started); }),
                "")
          << test.text() << ", seed " << seed << ", case " << i;
    }
  }
}

// As many calls as it takes to try both ways of giving, and to change from one to the other.
TEST(SharedPlane, GivesTheSameWhetherBlocksAreLentOrStaged) {
  constexpr int kRanks = 3;
  constexpr std::size_t kCount = 75'001;
  Ranks ranks(kRanks, true);
  const Contest contest = Contest::of(kind_of(Operation::gather, kCount * sizeof(std::int32_t)));
  for (const Operation operation : {Operation::broadcast, Operation::scatter, Operation::gather,
                                    Operation::allgather, Operation::all_to_all}) {
    TestCase test;
    test.row = any_row(operation);
    test.size = kRanks;
    test.root = 1;
    test.count = kCount;
    for (std::uint32_t i = 0; i < 2 * contest.trial() + 5; ++i) {
      test.in_place = i % 3 == 0;
      ASSERT_EQ(
          run(test, i,
              [&](const std::vector<Call>& calls) { return ranks.run(calls, 0, i % 4 == 1); }),
          "")
          << test.text() << ", call " << i;
    }
  }
}

TEST(SharedPlane, GivesWhatAPlainReferenceGivesToProcesses) {
  const std::uint64_t seed = test_seed();
  for (const int size : {2, 3, 5}) {
    const FileDescriptor fd = segment_for(size);
    std::vector<std::unique_ptr<test::Child>> children;
    for (int rank = 0; rank < size; ++rank) {
      children.push_back(std::make_unique<test::Child>([&, rank] {
        const auto plane = plane_of(fd.get(), rank, size, size == 3);
        std::mt19937_64 random(seed);
        for (std::size_t i = 0; i < sample_size(); ++i) {
          const TestCase test = any_case(random, size);
          const std::string problem = run(
              test, seed + i,
              [&](const std::vector<Call>& calls) -> std::string {
                const auto result =
                    Ranks::one(*plane, calls[static_cast<std::size_t>(rank)], 0, false);
                return result ? "" : result.error().message();
              },
              rank);
          if (problem.empty()) continue;
          std::cerr << problem << ": " << test.text() << ", seed " << seed << ", case " << i
                    << "\n";
          ::_exit(1);
        }
        ::_exit(0);
      }));
    }
    for (const auto& child : children) EXPECT_EQ(child->wait(), 0);
  }
}

TEST(SharedPlane, ReadsInputsThatLieInTheArenaWhereTheyLie) {
  const FileDescriptor fd = segment_for(3);
  std::vector<std::shared_ptr<SharedPlane>> planes;
  for (int rank = 0; rank < 3; ++rank) planes.push_back(plane_of(fd.get(), rank, 3));
  constexpr std::size_t kCount = 100'003;
  const auto body = [&](int rank) {
    auto memory = planes[static_cast<std::size_t>(rank)]->segment().allocate(kCount * 4);
    ASSERT_TRUE(memory);
    auto* const input = reinterpret_cast<std::int32_t*>(memory->bytes.data());
    for (const Operation operation :
         {Operation::allreduce, Operation::broadcast, Operation::reduce, Operation::allgather}) {
      for (std::size_t i = 0; i < kCount; ++i) input[i] = static_cast<int>(i) * (rank + 1);
      std::vector<std::int32_t> output(3 * kCount);
      Call call;
      call.operation = operation;
      call.element = Element::i32;
      call.count = kCount;
      call.root = 1;
      call.input = memory->bytes.data();
      call.output = reinterpret_cast<std::byte*>(output.data());
      ASSERT_TRUE(planes[static_cast<std::size_t>(rank)]->run(call, 0, std::chrono::seconds(30)));
      // At once, as a program would that trusts the call to be over.
      std::fill_n(input, kCount, -1);
      const std::size_t at = kCount - 1;
      const int last = static_cast<int>(at);
      if (operation == Operation::allreduce || (operation == Operation::reduce && rank == 1)) {
        EXPECT_EQ(output[at], 6 * last);
      }
      if (operation == Operation::broadcast) {
        EXPECT_EQ(output[at], 2 * last);
      }
      if (operation == Operation::allgather) {
        EXPECT_EQ(output[3 * kCount - 1], 3 * last);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace muster::comm::collective::shared
