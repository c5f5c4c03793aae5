#include "muster/comm/collective/shared/ways.h"

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/shared/make_operation.h"

namespace muster::comm::collective::shared {
namespace {

constexpr std::size_t kLarge = std::size_t{256} << 10;

Ways always(std::optional<Way> way) {
  Ways ways;
  for (const auto operation : kOperations) ways.add(operation, kLendFrom, way);
  return ways;
}

/// How an operation gives that is made from these arguments; nothing where there is no choice.
template <class Made>
std::optional<Way> way_of(auto&&... arguments) {
  if constexpr (std::is_same_v<Made, SplitAllreduce>)
    return std::get<2>(std::forward_as_tuple(arguments...));
  if constexpr (std::is_same_v<Made, Stepped<LentAllreduce>>) return Way::lend;
  const Made operation(std::forward<decltype(arguments)>(arguments)...);
  if constexpr (requires { operation.plan().loan; }) {
    const Loan& loan = operation.plan().loan;
    if (!loan.is_open()) return std::nullopt;
    return loan.lends() ? Way::lend : loan.streams() ? Way::stream : Way::stage;
  } else if constexpr (requires { operation.plan().pact; }) {
    return operation.plan().pact.streams() ? Way::stream : Way::stage;
  }
  return std::nullopt;
}

/// One rank's channel, for calls that are begun only.
class Caller {
 public:
  Caller(int rank, int ranks, bool may_lend, Ways ways)
      : segment_(Segment::map(Segment::create(ranks).value(), rank, ranks).value()),
        channel_(*segment_, 0, Duration::zero(), may_lend, nullptr, std::move(ways)),
        ranks_(static_cast<std::size_t>(ranks)) {}

  /// Of a call with root 0.
  std::optional<Way> way(collective::Operation operation, std::size_t block) {
    std::vector<std::byte> input(ranks_ * block);
    std::vector<std::byte> output(ranks_ * block);
    Call call{.operation = operation, .element = Element::u8, .count = block};
    call.input = input.data();
    call.output = output.data();
    return choose_operation(channel_, call, []<class Made>(auto&&... arguments) {
      return way_of<Made>(std::forward<decltype(arguments)>(arguments)...);
    });
  }

 private:
  std::shared_ptr<Segment> segment_;
  Channel channel_;
  std::size_t ranks_;
};

int a_rank_that_gives(collective::Operation operation) {
  const bool root_takes =
      operation == collective::Operation::gather || operation == collective::Operation::reduce;
  return root_takes ? 1 : 0;
}

template <class Check>
void for_each_caller(bool may_lend, const Ways& ways, Check check) {
  for (const int ranks : {2, 3})
    for (const auto operation : kOperations) {
      if (operation == collective::Operation::barrier) continue;
      SCOPED_TRACE(fmt::format("{} of {} ranks", name(operation), ranks));
      Caller caller(a_rank_that_gives(operation), ranks, may_lend, ways);
      check(caller, operation);
    }
}

TEST(Ways, AreUsedFromTheFirstCallOn) {
  for (const Way way : kWays)
    for_each_caller(true, always(way), [&](Caller& caller, collective::Operation operation) {
      for (const std::size_t block : {kLendFrom, kLarge, 4 * kLarge})
        EXPECT_EQ(caller.way(operation, block), way) << "blocks of " << block;
    });
}

TEST(Ways, ChangeAtTheirBytes) {
  Ways ways = always(Way::stream);
  for (const auto operation : kOperations) ways.add(operation, 20'001, Way::lend);
  for_each_caller(true, ways, [](Caller& caller, collective::Operation operation) {
    EXPECT_EQ(caller.way(operation, 20'000), Way::stream);
    EXPECT_EQ(caller.way(operation, 20'001), Way::lend);
  });
}

TEST(Ways, StageInsteadOfLendingWhereRanksCannotReadEachOther) {
  for_each_caller(false, always(Way::lend), [](Caller& caller, collective::Operation operation) {
    EXPECT_EQ(caller.way(operation, kLarge), Way::stage);
  });
}

TEST(Ways, AreTheUsualOnesWhereRanksFindThemOut) {
  for_each_caller(true, always(std::nullopt), [](Caller& caller, collective::Operation operation) {
    EXPECT_EQ(caller.way(operation, kLarge), usual_way(kind_of(operation, kLarge), true));
  });
}

TEST(Ways, OfAnOperationFollowEachOtherWithoutAGap) {
  for (const auto operation : kOperations) {
    std::size_t covered = 0;
    for (const WayRow& row : way_rows(operation)) {
      EXPECT_LE(row.from, covered) << name(operation) << " " << row.name;
      covered = std::max(covered, row.to);
      EXPECT_EQ(find_way(operation, row.name), &row);
    }
    EXPECT_EQ(covered, SIZE_MAX) << name(operation);
  }
}

}  // namespace
}  // namespace muster::comm::collective::shared
