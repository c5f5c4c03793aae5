#include "muster/comm/collective/schedule_runner.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/algorithm/registry.h"
#include "tests/support/collective_network.h"

namespace muster::comm::collective {
namespace {

/// A group of two in which each rank calls what it likes.
class Pair : public ::testing::Test {
 protected:
  void call(int rank, Operation operation, std::size_t count) {
    Call call;
    call.operation = operation;
    call.element = Element::i32;
    call.count = count;
    call.input = reinterpret_cast<const std::byte*>(items_[rank]);
    call.output = reinterpret_cast<std::byte*>(items_[rank]);
    const AlgorithmRow* row = nullptr;
    for (const AlgorithmRow& candidate : algorithm_rows())
      if (row == nullptr && candidate.operation == operation) row = &candidate;
    runners_[rank] = std::make_unique<ScheduleRunner>(network_.wire(rank), call,
                                                      build(*row, call, {rank, 2, {}}), Slot{});
  }

  Result<bool> finish(int rank) {
    for (int i = 0; i < 1000; ++i) {
      Result<bool> done = runners_[rank]->advance();
      if (!done || *done) return done;
      (void)runners_[1 - rank]->advance();
      network_.move_some();
    }
    return false;
  }

  std::int32_t items_[2][8] = {{1, 2}, {10, 20}};
  TestNetwork network_{2, 1};
  std::unique_ptr<ScheduleRunner> runners_[2];
};

TEST_F(Pair, ReducesAndSaysSoUntilTheEndOfTime) {
  call(0, Operation::allreduce, 2);
  call(1, Operation::allreduce, 2);
  EXPECT_TRUE(*finish(0));
  EXPECT_TRUE(*finish(1));
  EXPECT_TRUE(*finish(1));
  EXPECT_THAT(items_[0], testing::ElementsAre(11, 22, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(items_[1], testing::ElementsAre(11, 22, 0, 0, 0, 0, 0, 0));
}

TEST_F(Pair, SaysWhoCallsSomethingElse) {
  call(0, Operation::allreduce, 2);
  call(1, Operation::allreduce, 3);
  const Result<bool> done = finish(0);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), testing::HasSubstr("rank 1 calls allreduce of 3 int32"));
  EXPECT_FALSE(runners_[0]->advance());  // the error stays
}

TEST_F(Pair, SaysWhoHasSomethingWhereTheOtherHasNothing) {
  for (const int rank : {0, 1}) {
    call(rank, Operation::allreduce, 0);
    call(1 - rank, Operation::allreduce, 3);
    const Result<bool> done = finish(rank);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), testing::HasSubstr("allreduce of 0 int32"));
    EXPECT_THAT(done.error().message(), testing::HasSubstr("allreduce of 3 int32"));
  }
}

TEST_F(Pair, EndsWithAnErrorWhenThePeerIsLost) {
  call(0, Operation::allreduce, 2);
  call(1, Operation::allreduce, 2);
  network_.kill(1);
  const Result<bool> done = runners_[0]->advance();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), testing::HasSubstr("rank 1 is lost"));
}

TEST_F(Pair, TouchesNothingAfterItWasCancelled) {
  call(0, Operation::allreduce, 2);
  call(1, Operation::allreduce, 2);
  (void)runners_[0]->advance();
  (void)runners_[1]->advance();
  runners_[0]->cancel();
  for (int i = 0; i < 100; ++i) network_.move_some();
  EXPECT_THAT(items_[0], testing::ElementsAre(1, 2, 0, 0, 0, 0, 0, 0));
  const Result<bool> done = runners_[0]->advance();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), testing::HasSubstr("cancelled"));
}

TEST(ScheduleRunner, CopiesRowsOfAnySize) {
  for (const std::size_t bytes : {0, 1, 2, 3, 4, 8, 9, 16, 24}) {
    std::array<std::byte, 256> given;
    for (std::size_t i = 0; i < given.size(); ++i) given[i] = std::byte(i);
    std::array<std::byte, 256> got{};
    Call call;
    call.input = given.data();
    call.output = got.data();
    Schedule schedule;
    schedule.rounds.emplace_back().then.push_back({Local::Kind::copy,
                                                   {Space::output, 1, bytes},
                                                   {Space::input, 5, bytes},
                                                   {},
                                                   1,
                                                   {3, 64, 30}});
    TestNetwork alone(1, 1);
    ScheduleRunner runner(alone.wire(0), call, schedule, Slot{});
    ASSERT_TRUE(*runner.advance());
    std::array<std::byte, 256> expected{};
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t i = 0; i < bytes; ++i) expected[1 + row * 64 + i] = given[5 + row * 30 + i];
    EXPECT_EQ(got, expected) << "rows of " << bytes;
  }
}

TEST(Slot, KeepsItsPartsThroughPacking) {
  constexpr Slot kSlot = {0xfedc, 0xba, 0x98'7654, 0x3210};
  EXPECT_EQ(Slot::unpack(kSlot.packed()), kSlot);
}

}  // namespace
}  // namespace muster::comm::collective
