#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <optional>
#include <span>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/comm/collective/shared/plane.h"
#include "tests/collectives/cases.h"
#include "tests/collectives/planes.h"
#include "tests/support/child.h"
#include "tests/support/seed.h"
#include "tests/support/soak.h"

namespace muster::comm::collective::shared {
namespace {

using collective::Operation;

/// The planes of a group whose ranks are threads.
class Ranks {
 public:
  Ranks(int ranks, bool lends, const Ways& ways = ChoiceTable::builtin().ways())
      : fd_(segment_for(ranks)) {
    SharedPlane::Options options;
    options.lends = lends;
    options.ways = ways;
    for (int rank = 0; rank < ranks; ++rank)
      planes_.push_back(plane_of(fd_.get(), rank, ranks, options));
  }

  /// Whether a rank has found out how others should give.
  [[nodiscard]] bool any_wishes() const {
    return std::ranges::any_of(planes_, [](const auto& plane) {
      const Segment& segment = plane->segment();
      const auto& channels = segment.control(segment.rank()).channels;
      return std::ranges::any_of(channels, [](const ChannelControl& channel) {
        return std::ranges::any_of(channel.wishes.way,
                                   [](const auto& way) { return way.load() != 0; });
      });
    });
  }

  /// Ranks give in this way in the next call, or, where they have to agree, in the one after.
  void wish_for(Way way) const {
    for (const auto& plane : planes_) shared::wish_for(*plane, way);
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

// For processes, which must all draw as many.
std::size_t sample_size(int ranks) {
  return (std::getenv("MUSTER_SOAK_SECONDS") == nullptr ? 200 : 6000) /
         static_cast<std::size_t>(ranks);
}

TEST(SharedPlane, GivesWhatAPlainReferenceGivesToThreads) {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (int size = 1; size <= kMostTestedRanks; ++size) {
    Ranks ranks(size, size % 2 == 0);
    test::Sample sample(150, kMostTestedRanks);
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

// Some ways of giving come only after many calls of one kind: here all blocks are large enough, and
// the way is drawn.
TEST(SharedPlane, GivesWhatAPlainReferenceGivesInEveryWay) {
  constexpr std::size_t kLeast = std::size_t{64} << 10;
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  constexpr std::array kSizes{2, 3, 4, 6};
  for (const int size : kSizes) {
    Ranks ranks(size, size % 2 == 0);
    test::Sample sample(90, kSizes.size());
    for (std::size_t i = 0; sample.more(); ++i) {
      TestCase test = any_case(random, size);
      test.counts.clear();
      test.matrix.clear();
      const std::size_t bytes = kLeast + random() % (3 * kLeast);
      test.count = (bytes + item_size(test.element) - 1) / item_size(test.element);
      const Way way = size % 2 == 0 ? kWays[random() % kWays.size()] : Way::stream;
      for (const bool started : {false, true}) {
        ranks.wish_for(way);
        ASSERT_EQ(run(test, seed + i,
                      [&](const std::vector<Call>& calls) { return ranks.run(calls, 0, started); }),
                  "")
            << test.text() << ", way " << static_cast<int>(way) << ", seed " << seed << ", case "
            << i;
      }
    }
  }
}

/// Of each operation, in and out of place: in one step, in several, and in more than there are
/// slots.
std::vector<TestCase> large_cases(int size) {
  std::vector<TestCase> cases;
  for (const Operation operation : kOperations) {
    if (operation == Operation::barrier) continue;
    for (const std::size_t bytes : {kLendFrom, std::size_t{100'001}, kFewSlotsFrom + 300'000}) {
      TestCase test;
      test.row = any_row(operation);
      test.size = size;
      test.root = 1;
      test.count = bytes / item_size(test.element);
      for (const bool in_place : {false, true}) {
        test.in_place = in_place;
        cases.push_back(test);
      }
    }
  }
  return cases;
}

TEST(SharedPlane, GivesWhatAPlainReferenceGivesInTheWayOfTheTable) {
  const std::uint64_t seed = test_seed();
  for (const int size : {2, 3}) {
    for (const char* way : {"lend", "stage", "stream"}) {
      Ranks ranks(size, true, ways_by_table(way));
      for (const TestCase& test : large_cases(size))
        ASSERT_EQ(run(test, seed,
                      [&](const std::vector<Call>& calls) { return ranks.run(calls, 0, false); }),
                  "")
            << test.text() << ", " << way << ", seed " << seed;
    }
  }
}

/// Whether ranks look for the quickest way, as they would in the last of so many calls.
bool find_out(const char* way) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  Ranks ranks(2, true, ways_by_table(way));
  for (const Operation operation : {Operation::allreduce, Operation::gather}) {
    TestCase test;
    test.row = any_row(operation);
    test.size = 2;
    test.count = kBytes / item_size(test.element);
    const std::uint32_t trial = Contest::of(kind_of(operation, kBytes), true).trial();
    for (std::uint32_t i = 0; i < trial + 2; ++i)
      EXPECT_EQ(
          run(test, i, [&](const std::vector<Call>& calls) { return ranks.run(calls, 0, false); }),
          "");
  }
  return ranks.any_wishes();
}

TEST(SharedPlane, TriesNothingWhereTheTableSettlesTheWay) {
  EXPECT_TRUE(find_out("quickest"));
  for (const char* way : {"lend", "stage", "stream"}) EXPECT_FALSE(find_out(way)) << way;
}

// As many calls as it takes to try all ways of giving, and to change from one to the other.
TEST(SharedPlane, GivesTheSameWhileWaysAreTried) {
  constexpr std::size_t kCount = 75'001;
  const Contest contest =
      Contest::of(kind_of(Operation::gather, kCount * sizeof(std::int32_t)), true);
  for (const int size : {2, 3}) {
    Ranks ranks(size, true);
    for (const Operation operation : kOperations) {
      if (operation == Operation::barrier) continue;
      TestCase test;
      test.row = any_row(operation);
      test.size = size;
      test.root = 1;
      test.count = kCount;
      if (is_reducing(operation)) test.reduction = Reduction(ReductionKind::sum);
      for (std::uint32_t i = 0; i < kWays.size() * contest.trial() + 5; ++i) {
        test.in_place = i % 3 == 0;
        ASSERT_EQ(
            run(test, i,
                [&](const std::vector<Call>& calls) { return ranks.run(calls, 0, i % 4 == 1); }),
            "")
            << test.text() << ", call " << i;
      }
    }
  }
}

// Two ranks share the work where one of them has its result in the place of its input, and else may
// do all of it each.
TEST(SharedPlane, AllreducesWhatEachRankMayHaveInPlace) {
  Ranks ranks(2, true);
  for (const std::size_t count : {40'000, 100'000}) {
    for (const bool first_in_place : {false, true}) {
      for (const bool second_in_place : {false, true}) {
        for (int again = 0; again < 2; ++again) {
          ranks.wish_for(Way::lend);
          std::vector<std::uint32_t> inputs[2];
          std::vector<std::uint32_t> outputs[2];
          std::vector<Call> calls(2);
          for (const std::size_t rank : {0, 1}) {
            inputs[rank].resize(count);
            std::iota(inputs[rank].begin(), inputs[rank].end(), 7 * rank);
            outputs[rank].resize(count);
            const bool in_place = rank == 0 ? first_in_place : second_in_place;
            if (in_place) outputs[rank].swap(inputs[rank]);
            calls[rank] = {
                .operation = Operation::allreduce, .element = Element::u32, .count = count};
            calls[rank].output = reinterpret_cast<std::byte*>(outputs[rank].data());
            calls[rank].input =
                in_place ? calls[rank].output : reinterpret_cast<std::byte*>(inputs[rank].data());
          }
          ASSERT_EQ(ranks.run(calls, 0, false), "");
          for (std::size_t i = 0; i < count; ++i)
            for (const auto& output : outputs) ASSERT_EQ(output[i], 2 * i + 7) << "item " << i;
        }
      }
    }
  }
}

// Large calls in which all give and take use other slots of staging than what comes before and
// after. That these are free by then is tested with the channel.
TEST(SharedPlane, GivesTheSameWithFewSlotsAndWithMany) {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (const int size : {2, 3}) {
    Ranks ranks(size, false);
    for (int i = 0; i < 60; ++i) {
      const bool large = random() % 4 == 0;
      TestCase test;
      test.row = any_row(large ? Operation::allgather
                               : std::array{Operation::broadcast, Operation::gather,
                                            Operation::all_to_all}[random() % 3]);
      test.size = size;
      test.count = large ? kFewSlotsFrom / 4 + random() % 50'000 : random() % 70'000;
      ASSERT_EQ(
          run(test, seed + static_cast<std::uint64_t>(i),
              [&](const std::vector<Call>& calls) { return ranks.run(calls, 0, i % 3 == 0); }),
          "")
          << test.text() << ", seed " << seed << ", call " << i;
    }
  }
}

// All sizes that fit into a line, the largest often.
std::size_t bytes_at(std::size_t call) {
  return call % 3 == 0 ? kInlineBytes - call / 3 % 8 : 1 + call * 37 % kInlineBytes;
}

Call nth_broadcast(std::size_t at, std::vector<std::byte>& block) {
  Call call;
  call.operation = Operation::broadcast;
  call.element = Element::u8;
  call.count = bytes_at(at);
  call.input = call.output = block.data();
  return call;
}

// Who gives runs as far ahead as it may, so that what it writes is next to what is being read.
TEST(SharedPlane, KeepsWhatASlowRankHasNotTaken) {
  const FileDescriptor fd = segment_for(2);
  const auto root = plane_of(fd.get(), 0, 2);
  const auto taker = plane_of(fd.get(), 1, 2);
  constexpr std::size_t kCalls = 20 * kRing;
  const std::jthread giving([&] {
    std::vector<std::byte> block(kInlineBytes);
    for (std::size_t i = 0; i < kCalls; ++i) {
      std::ranges::fill(block, static_cast<std::byte>(i));
      ASSERT_TRUE(root->run(nth_broadcast(i, block), 0, std::chrono::seconds(60))) << i;
    }
  });
  std::vector<std::byte> block(kInlineBytes);
  for (std::size_t i = 0; i < kCalls; ++i) {
    if (i % kRing == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ASSERT_TRUE(taker->run(nth_broadcast(i, block), 0, std::chrono::seconds(60))) << i;
    const std::vector<std::byte> expected(bytes_at(i), static_cast<std::byte>(i));
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), block.begin())) << i;
  }
}

// Small rooted calls share lines of cache, and others have lines of their own.
TEST(SharedPlane, GivesTheSameWhenSmallCallsOfAllKindsFollowEachOther) {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (const int size : {2, 3, 5}) {
    Ranks ranks(size, false);
    for (std::uint64_t i = 0; i < 150; ++i) {
      TestCase test = any_case(random, size);
      test.counts.clear();
      test.matrix.clear();
      test.count = random() % (kInlineBytes / item_size(test.element) + 3);
      ASSERT_EQ(
          run(test, seed + i,
              [&](const std::vector<Call>& calls) { return ranks.run(calls, 0, i % 3 == 0); }),
          "")
          << test.text() << ", seed " << seed << ", call " << i;
    }
  }
}

TEST(SharedPlane, GivesWhatAPlainReferenceGivesToProcesses) {
  const std::uint64_t seed = test_seed();
  for (int size = 1; size <= kMostTestedRanks; ++size) {
    const FileDescriptor fd = segment_for(size);
    std::vector<std::unique_ptr<test::Child>> children;
    for (int rank = 0; rank < size; ++rank) {
      children.push_back(std::make_unique<test::Child>([&, rank] {
        const auto plane = plane_of(fd.get(), rank, size, size % 2 == 1);
        std::mt19937_64 random(seed);
        for (std::size_t i = 0; i < sample_size(size); ++i) {
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

/// What rank r gives at place i of its input.
std::int32_t given(int rank, std::size_t i) {
  return static_cast<std::int32_t>(i % 10'007) * (rank + 1);
}
/// What three ranks, of which 1 is the root, find at a place of their output; nothing where it is
/// undefined.
std::optional<std::int32_t> expected(Operation operation, int rank, std::size_t count,
                                     std::size_t i) {
  const auto from = static_cast<int>(i / count);
  const std::size_t own = static_cast<std::size_t>(rank) * count;
  const auto sum = [](std::size_t at) { return given(0, at) + given(1, at) + given(2, at); };
  switch (operation) {
    case Operation::allgather: return given(from, i % count);
    case Operation::all_to_all: return given(from, own + i % count);
    case Operation::gather:
      if (rank == 1) return given(from, i % count);
      break;
    default: break;
  }
  if (from > 0) return std::nullopt;
  switch (operation) {
    case Operation::broadcast: return given(1, i);
    case Operation::scatter: return given(1, own + i);
    case Operation::allreduce: return sum(i);
    case Operation::reduce:
      if (rank == 1) return sum(i);
      break;
    case Operation::reduce_scatter: return sum(own + i);
    default: break;
  }
  return std::nullopt;
}

void compute_in_arena(SharedPlane& plane, int rank) {
  constexpr std::size_t kCount = 100'003;
  auto memory = plane.segment().allocate(3 * kCount * sizeof(std::int32_t));
  ASSERT_TRUE(memory);
  const std::span input(reinterpret_cast<std::int32_t*>(memory->bytes.data()), 3 * kCount);
  for (const Operation operation : kOperations) {
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = given(rank, i);
    std::vector<std::int32_t> output(3 * kCount);
    Call call;
    call.operation = operation;
    call.element = Element::i32;
    call.count = kCount;
    call.root = 1;
    call.input = memory->bytes.data();
    call.output = reinterpret_cast<std::byte*>(output.data());
    ASSERT_TRUE(plane.run(call, 0, std::chrono::seconds(30)));
    // At once, as a program would that trusts the call to be over.
    std::fill(input.begin(), input.end(), -1);
    for (std::size_t i = 0; i < output.size(); ++i) {
      const auto wanted = expected(operation, rank, kCount, i);
      ASSERT_EQ(output[i], wanted.value_or(output[i])) << name(operation) << " at " << i;
    }
  }
  // In place, too.
  std::fill(input.begin(), input.end(), rank);
  Call call{.operation = Operation::broadcast, .element = Element::i32, .root = 1};
  call.count = kCount;
  call.input = call.output = memory->bytes.data();
  ASSERT_TRUE(plane.run(call, 0, std::chrono::seconds(30)));
  const std::span shared = input.first(kCount);
  EXPECT_EQ(std::count(shared.begin(), shared.end(), 1), static_cast<std::ptrdiff_t>(kCount));
}

TEST(SharedPlane, ReadsInputsThatLieInTheArenaWhereTheyLie) {
  for (const bool lends : {false, true}) {
    const FileDescriptor fd = segment_for(3);
    std::vector<std::shared_ptr<SharedPlane>> planes;
    for (int rank = 0; rank < 3; ++rank) planes.push_back(plane_of(fd.get(), rank, 3, lends));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back(
          [&, rank] { compute_in_arena(*planes[static_cast<std::size_t>(rank)], rank); });
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace muster::comm::collective::shared
