#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "muster/comm/errc.h"
#include "tests/integration/collective/ranks.h"

// Ranks that call different things are told so, and nobody waits for ever.

namespace muster::comm {
namespace {

using collective::Call;
using collective::Operation;
using testing::HasSubstr;

constexpr int kRanks = 4;
constexpr CallOptions kSoon = {.timeout = std::chrono::seconds(30)};

using Counts = std::vector<std::size_t>;
using Ints = std::vector<int>;

/// A call in which the ranks disagree about `count`: the items of every block, or of rank 1's.
struct Form {
  const char* name;
  std::function<Result<void>(Group&, std::size_t count)> call;
};

Ints blocks_of(std::size_t count) { return Ints(kRanks * count); }

const Form kEqualBlocks[] = {
    {"broadcast",
     [](Group& group, std::size_t count) {
       Ints data(count);
       return group.broadcast(data, 0, kSoon);
     }},
    {"scatter",
     [](Group& group, std::size_t count) {
       Ints own(count);
       return group.scatter(blocks_of(count), own, 0, kSoon);
     }},
    {"gather",
     [](Group& group, std::size_t count) {
       Ints all = blocks_of(count);
       return group.gather(Ints(count), all, 0, kSoon);
     }},
    {"reduce",
     [](Group& group, std::size_t count) {
       Ints sum(count);
       return group.reduce(Ints(count), sum, {}, 0, kSoon);
     }},
    {"allreduce",
     [](Group& group, std::size_t count) {
       Ints data(count);
       return group.allreduce(data, {}, kSoon);
     }},
    {"allgather",
     [](Group& group, std::size_t count) {
       Ints all = blocks_of(count);
       return group.allgather(Ints(count), all, kSoon);
     }},
    {"reduce_scatter",
     [](Group& group, std::size_t count) {
       Ints own(count);
       return group.reduce_scatter(blocks_of(count), own, {}, kSoon);
     }},
    {"all_to_all",
     [](Group& group, std::size_t count) {
       Ints all = blocks_of(count);
       return group.all_to_all(blocks_of(count), all, kSoon);
     }},
};

const Form kDifferentBlocks[] = {
    {"scatterv",
     [](Group& group, std::size_t count) {
       Ints own(group.rank() == 1 ? count : 2);
       return group.scatterv(Ints(6 + count), Counts{2, count, 2, 2}, own, 0, kSoon);
     }},
    {"gatherv",
     [](Group& group, std::size_t count) {
       Ints all(6 + count);
       return group.gatherv(Ints(group.rank() == 1 ? count : 2), all, Counts{2, count, 2, 2}, 0,
                            kSoon);
     }},
    {"allgatherv",
     [](Group& group, std::size_t count) {
       Ints all(6 + count);
       return group.allgatherv(Ints(group.rank() == 1 ? count : 2), all, Counts{2, count, 2, 2},
                               kSoon);
     }},
    {"all_to_allv",
     [](Group& group, std::size_t count) {
       // Only what rank 0 and rank 1 give each other.
       Counts counts{0, 0, 0, 0};
       if (group.rank() < 2) counts[static_cast<std::size_t>(1 - group.rank())] = count;
       Ints all(count);
       return group.all_to_allv(Ints(count), counts, all, counts, kSoon);
     }},
};

/// What one rank's call has that the others' do not, apart from its size.
struct Difference {
  const char* name;
  bool (*concerns)(Operation);
  void (*make)(Call&);
};

Operation after(Operation operation) {
  const auto next = static_cast<std::size_t>(operation) + 1;
  return collective::kOperations[next % collective::kOperations.size()];
}

const Difference kDifferences[] = {
    {"another type", [](Operation operation) { return operation != Operation::barrier; },
     [](Call& call) { call.element = Element::i32; }},
    {"another reduction", collective::is_reducing,
     [](Call& call) { call.reduction = ReductionKind::max; }},
    {"another root", collective::is_rooted, [](Call& call) { call.root = 2; }},
    {"another operation", [](Operation) { return true; },
     [](Call& call) { call.operation = after(call.operation); }},
};

/// Carries out a call with buffers that are large enough for any.
Result<void> run_with_buffers(Group& group, Call call) {
  std::vector<std::byte> input(kRanks * call.count * sizeof(float));
  std::vector<std::byte> output(input.size());
  call.input = input.data();
  call.output = output.data();
  if (call.operation == Operation::barrier) call = {};
  return group.run(call, kSoon);
}

class DisagreementOn : public OnPlanes {
 protected:
  /// A rank that is done with its part learns it at the next call.
  static void expect_that_all_are_told(Group& group, Result<void> result,
                                       const std::string& named) {
    if (result) result = group.barrier(kSoon);
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is(Errc::mismatch)) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr(named));
  }

  /// With each of these ranks being the odd one, who has few items where the others have many, or
  /// many where they have few.
  void disagree(std::span<const Form> forms, std::size_t few, std::size_t many,
                std::initializer_list<int> odd_ones) const {
    as_threads(kRanks, [&](int rank) {
      Group all = join_or_throw(options(kRanks, rank));
      for (const Form& form : forms) {
        for (const int odd : odd_ones) {
          for (const bool has_few : {true, false}) {
            SCOPED_TRACE(
                fmt::format("{}, rank {} has {}", form.name, odd, has_few ? "few" : "many"));
            auto group = all.split(0, 0, kSoon);
            ASSERT_TRUE(group) << group.error().message();
            const std::size_t count = (rank == odd) == has_few ? few : many;
            expect_that_all_are_told(*group, form.call(*group, count), fmt::format("rank {}", odd));
            require(all.barrier(kSoon));  // who left would be missed, and named instead
          }
        }
      }
    });
  }
};

TEST_P(DisagreementOn, RanksOfWhichOneHasNothingAreTold) { disagree(kEqualBlocks, 0, 5, {0, 3}); }

TEST_P(DisagreementOn, RanksOfWhichOneHasNothingAreToldAlsoWhereTheOthersHaveMuch) {
  disagree(kEqualBlocks, 0, 40'000, {0, 3});
}

TEST_P(DisagreementOn, RanksOfWhichOneExpectsAnEmptyBlockAreTold) {
  disagree(kDifferentBlocks, 0, 5, {0, 1});
}

// With other messages between other ranks: some may be done before anybody notices.
TEST_P(DisagreementOn, RanksThatChooseDifferentAlgorithmsAreTold) {
  disagree(kEqualBlocks, 5, 40'000, {0, 3});
}

TEST_P(DisagreementOn, RanksOfWhichOneCallsSomethingElseAreTold) {
  constexpr int kOdd = 1;
  as_threads(kRanks, [&](int rank) {
    Group all = join_or_throw(options(kRanks, rank));
    for (const Operation operation : collective::kOperations) {
      for (const auto& [name, concerns, make] : kDifferences) {
        for (const std::size_t count : {5, 40'000}) {
          if (!concerns(operation)) continue;
          SCOPED_TRACE(fmt::format("{} of {}, {}", collective::name(operation), count, name));
          auto group = all.split(0, 0, kSoon);
          ASSERT_TRUE(group) << group.error().message();
          Call call{.operation = operation, .element = Element::f32, .count = count};
          if (rank == kOdd) make(call);
          expect_that_all_are_told(*group, run_with_buffers(*group, call), "rank 1");
          require(all.barrier(kSoon));  // who left would be missed, and named instead
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Planes, DisagreementOn, kEveryPlane, testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
