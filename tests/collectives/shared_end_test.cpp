#include <chrono>
#include <functional>
#include <sys/mman.h>
#include <thread>

#include <gtest/gtest.h>

#include "muster/base/utf8.h"
#include "muster/comm/errc.h"
#include "tests/collectives/planes.h"
#include "tests/collectives/two_ranks.h"

// How calls end when a rank gives up, leaves, or cannot go on.

namespace muster::comm::collective::shared {
namespace {

using collective::Operation;
using std::chrono::milliseconds;
using std::chrono::seconds;

class SharedEnd : public TwoRanks {
 protected:
  /// The second rank takes part in a call when the first one gives it up, and before it has read
  /// what that gave; `then` is what the first one does next.
  void come_too_late(Operation operation, const std::byte* input, std::size_t bytes,
                     const std::function<void()>& then) {
    Bytes own(2 * kBlock);
    Call given = call_of(operation, bytes, input, own.data());
    const Bytes others(kBlock);
    Bytes got(2 * kBlock);
    Call taken = call_of(operation, bytes, others.data(), got.data());
    // What is given is for the second rank.
    if (operation == Operation::gather || operation == Operation::reduce)
      given.root = taken.root = 1;
    const auto giving = first_->start(given, 0);
    ASSERT_TRUE(giving);
    bool given_up = false;
    before_second_speaks_ = [&] {
      (*giving)->cancel();
      then();
      given_up = true;
    };
    const auto late = second_->run(taken, 0, seconds(30));
    EXPECT_TRUE(given_up);
    ASSERT_FALSE(late) << name(operation);
    EXPECT_TRUE(late.error().is(Errc::cancelled)) << late.error().message();
  }
};

class SharedLate : public SharedEnd, public testing::WithParamInterface<Operation> {};

INSTANTIATE_TEST_SUITE_P(SharedEnd, SharedLate,
                         testing::Values(Operation::broadcast, Operation::gather,
                                         Operation::reduce),
                         [](const auto& late) { return std::string(name(late.param)); });

TEST_P(SharedLate, NobodyTakesWhatWasLentForACallThatWasGivenUp) {
  make(true);
  wish_for(*second_, Way::lend);
  Bytes input(kBlock);
  come_too_late(GetParam(), input.data(), kBlock, [&] { std::ranges::fill(input, std::byte{77}); });
}

TEST_P(SharedLate, NobodyTakesWhatLiesInTheArenaOfWhoGaveUp) {
  make(false);
  const auto memory = first_->segment().allocate(kBlock);
  ASSERT_TRUE(memory);
  come_too_late(GetParam(), memory->bytes.data(), kBlock,
                [&] { std::ranges::fill(memory->bytes, std::byte{77}); });
}

// The reader finds nothing where the lender's memory was, and knows why.
TEST_P(SharedLate, MemoryThatIsGoneWithACallThatWasGivenUpIsNotCalledUnreadable) {
  make(true);
  wish_for(*second_, Way::lend);
  void* const gone =
      ::mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(gone, MAP_FAILED);
  come_too_late(GetParam(), static_cast<std::byte*>(gone), kBlock, [&] { ::munmap(gone, kBlock); });
}

TEST_F(SharedEnd, NobodyTakesAnAllreduceOutOfTheArenaOfWhoGaveUp) {
  make(false);
  constexpr std::size_t kTwoSteps = 2 * kStepBytes;  // both are given at once
  const auto memory = first_->segment().allocate(kTwoSteps);
  ASSERT_TRUE(memory);
  come_too_late(Operation::allreduce, memory->bytes.data(), kTwoSteps,
                [&] { std::ranges::fill(memory->bytes, std::byte{77}); });
}

TEST_F(SharedEnd, NobodyTakesAnAllreduceThatWasGivenUp) {
  make(true);
  const Bytes input(kBlock);
  Bytes output(kBlock);
  Bytes theirs(kBlock);
  const Call first = call_of(Operation::allreduce, kBlock, input.data(), output.data());
  const Call second = call_of(Operation::allreduce, kBlock, input.data(), theirs.data());
  wish_for(*first_, Way::lend);
  run_on_both(first, second);  // agrees to lend the next
  const auto giving = first_->start(first, 0);
  const auto taking = second_->start(second, 0);
  ASSERT_TRUE(giving && taking);
  // The first one has all that it needs now, and waits until the second one has.
  ASSERT_FALSE((*giving)->test().value_or(true));
  (*giving)->cancel();
  std::ranges::fill(output, std::byte{77});
  const auto late = (*taking)->wait(seconds(30));
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().is(Errc::cancelled)) << late.error().message();
}

// Each of three combines a part for all.
TEST_F(SharedEnd, NobodyTakesAPartThatWasMadeFromTheArenaOfWhoGaveUp) {
  const FileDescriptor file = segment_for(3);
  std::vector<std::shared_ptr<SharedPlane>> planes;
  for (int rank = 0; rank < 3; ++rank) planes.push_back(plane_of(file.get(), rank, 3));
  constexpr std::size_t kOneStep = kStepBytes;
  const auto memory = planes[0]->segment().allocate(kOneStep);
  ASSERT_TRUE(memory);
  const Bytes others(kOneStep);
  std::vector<Bytes> outputs(3, Bytes(kOneStep));
  std::vector<std::shared_ptr<Handle::State>> calls(3);
  for (const int rank : {0, 1, 2}) {
    const std::byte* const input = rank == 0 ? memory->bytes.data() : others.data();
    auto call = planes[static_cast<std::size_t>(rank)]->start(
        call_of(Operation::allreduce, kOneStep, input,
                outputs[static_cast<std::size_t>(rank)].data()),
        0);
    ASSERT_TRUE(call);
    calls[static_cast<std::size_t>(rank)] = *std::move(call);
  }
  // The first and the last have made their parts.
  ASSERT_FALSE(calls[0]->test().value_or(true));
  calls[0]->cancel();
  std::ranges::fill(memory->bytes, std::byte{77});
  for (const int rank : {1, 2}) {
    const auto late = calls[static_cast<std::size_t>(rank)]->wait(seconds(30));
    ASSERT_FALSE(late) << "rank " << rank;
    EXPECT_TRUE(late.error().is(Errc::cancelled)) << late.error().message();
  }
}

TEST_F(SharedEnd, ACallThatFollowsOneThatWasGivenUpFails) {
  make(false);
  std::byte one{1};
  std::byte two{2};
  std::byte hundred{100};
  std::byte result{};
  std::byte other{};
  const auto given_up =
      first_->run(call_of(Operation::allreduce, 1, &one, &result), 0, milliseconds(20));
  EXPECT_FALSE(given_up);
  const auto next = first_->run(call_of(Operation::allreduce, 1, &two, &result), 0, seconds(30));
  ASSERT_FALSE(next);
  EXPECT_TRUE(next.error().is(Errc::cancelled)) << next.error().message();
  // What the first rank gave is there, unchanged.
  const auto late =
      second_->run(call_of(Operation::allreduce, 1, &hundred, &other), 0, seconds(30));
  EXPECT_FALSE(late);
}

TEST_F(SharedEnd, ATimeoutNamesTheRankThatHasNotReadWhatIsLent) {
  make(true);
  const Bytes input(kBlock);
  Bytes output(kBlock);
  const auto given = first_->run(call_of(Operation::broadcast, kBlock, input.data(), output.data()),
                                 0, milliseconds(20));
  ASSERT_FALSE(given);
  EXPECT_NE(given.error().message().find("it waits for rank 1"), std::string::npos)
      << given.error().message();
}

TEST_F(SharedEnd, LongWordsAreCutBetweenCharacters) {
  for (const std::string start : {"", "x"}) {
    const FileDescriptor file = segment_for(2);
    first_ = plane_of(file.get(), 0, 2);
    second_ = plane_of(file.get(), 1, 2);
    std::string words = start;
    while (words.size() <= kReportBytes) words += "\xc3\xa9";
    first_->end_with(Error(make_error_code(Errc::cancelled), words));
    const std::string told = second_->error().message();
    EXPECT_TRUE(is_utf8(told)) << told;
    EXPECT_GE(told.size(), kReportBytes - 1);
  }
}

TEST_F(SharedEnd, ATimeoutNamesTheRankThatTakesTheRoom) {
  make(false);
  std::byte item{1};
  Result<void> given;
  for (std::size_t i = 0; i <= kRing && given; ++i)
    given = first_->run(call_of(Operation::broadcast, 1, &item, &item), 0, milliseconds(20));
  ASSERT_FALSE(given);
  EXPECT_NE(given.error().message().find("it waits for rank 1"), std::string::npos)
      << given.error().message();
}

TEST_F(SharedEnd, WhoWaitsForAHandleIsToldWhomItWaitsFor) {
  make(false);
  std::byte item{1};
  const auto started = first_->start(call_of(Operation::allreduce, 1, &item, &item), 0);
  ASSERT_TRUE(started);
  const auto given = (*started)->wait(milliseconds(20));
  ASSERT_FALSE(given);
  EXPECT_NE(given.error().message().find("it waits for rank 1"), std::string::npos)
      << given.error().message();
}

// The last rank takes nothing that the first one broadcasts, until that has no room for more.
TEST_F(SharedEnd, ATimeoutOfASplitAllreduceNamesTheRankThatTakesTheRoom) {
  const FileDescriptor file = segment_for(3);
  const auto root = plane_of(file.get(), 0, 3);
  const auto second = plane_of(file.get(), 1, 3);
  const auto third = plane_of(file.get(), 2, 3);
  Bytes block(kStepBytes);
  Bytes sum(kStepBytes);
  for (std::size_t i = 0; i < kSlots; ++i) {
    const Call call = call_of(Operation::broadcast, kStepBytes, block.data(), block.data());
    ASSERT_TRUE(root->run(call, 0, seconds(30)));
    ASSERT_TRUE(second->run(call, 0, seconds(30)));
  }
  const auto given = root->run(call_of(Operation::allreduce, kStepBytes, block.data(), sum.data()),
                               0, milliseconds(20));
  ASSERT_FALSE(given);
  EXPECT_NE(given.error().message().find("it waits for rank 2"), std::string::npos)
      << given.error().message();
}

// Whichever of the two is small enough to lie among other calls.
TEST_F(SharedEnd, ACallOfAnotherSizeIsToldWhereverItsBytesLie) {
  constexpr std::size_t kSizes[][2] = {{8, 16}, {8, 1000}, {1000, 8}, {360, 361}, {8, kBlock}};
  for (const auto& [given, taken] : kSizes) {
    for (const bool started : {false, true}) {
      const FileDescriptor file = segment_for(2);
      const auto root = plane_of(file.get(), 0, 2);
      const auto taker = plane_of(file.get(), 1, 2);
      Bytes block(kBlock);
      Bytes got(kBlock);
      const auto giving =
          root->start(call_of(Operation::broadcast, given, block.data(), block.data()), 0);
      ASSERT_TRUE(giving);
      const Call call = call_of(Operation::broadcast, taken, nullptr, got.data());
      Result<void> result;
      if (started) {
        const auto taking = taker->start(call, 0);
        ASSERT_TRUE(taking);
        result = (*taking)->wait(seconds(30));
      } else {
        result = taker->run(call, 0, seconds(30));
      }
      ASSERT_FALSE(result) << given << " and " << taken;
      EXPECT_TRUE(result.error().is(Errc::mismatch)) << result.error().message();
    }
  }
}

// Each gave to the other, and took nothing.
TEST_F(SharedEnd, RanksThatWereBothRootAreToldAtTheNextCall) {
  for (const Operation next : {Operation::broadcast, Operation::allreduce, Operation::barrier}) {
    const FileDescriptor file = segment_for(2);
    const std::shared_ptr<SharedPlane> planes[] = {plane_of(file.get(), 0, 2),
                                                   plane_of(file.get(), 1, 2)};
    std::byte items[2] = {};
    for (const int rank : {0, 1}) {
      Call call = call_of(Operation::broadcast, 1, &items[rank], &items[rank]);
      call.root = rank;
      ASSERT_TRUE(planes[rank]->run(call, 0, seconds(30)));
    }
    std::byte more[2] = {};
    const auto giving = planes[0]->start(call_of(next, 1, &more[0], &more[0]), 0);
    ASSERT_TRUE(giving);
    const auto taken = planes[1]->run(call_of(next, 1, &more[1], &more[1]), 0, seconds(30));
    ASSERT_FALSE(taken) << name(next);
    EXPECT_TRUE(taken.error().is(Errc::mismatch)) << taken.error().message();
  }
}

// They put and look for the bytes of the next call at different places, whose signature is the same
// on both: it holds no more than a short hash of what was called before.
TEST_F(SharedEnd, RanksThatWereBothRootAreToldEvenWhereTheHashOfThatIsTheSame) {
  make(false);
  constexpr std::size_t kSizes[2][2] = {{341, 170}, {236, 344}};
  SharedPlane* const planes[] = {first_.get(), second_.get()};
  Bytes items(kInlineBytes);
  for (const int rank : {0, 1}) {
    for (const std::size_t size : kSizes[rank]) {
      Call call = call_of(Operation::broadcast, size, items.data(), items.data());
      call.root = rank;
      ASSERT_TRUE(planes[rank]->run(call, 0, seconds(30)));
    }
  }
  Call call = call_of(Operation::broadcast, 1, items.data(), items.data());
  call.element = Element::i64;
  ASSERT_TRUE(first_->run(call, 0, seconds(30)));
  const auto taken = second_->run(call, 0, seconds(30));
  ASSERT_FALSE(taken);
  EXPECT_TRUE(taken.error().is(Errc::mismatch)) << taken.error().message();
  EXPECT_NE(taken.error().message().find("rank 0 and rank 1 called different rooted operations"),
            std::string::npos)
      << taken.error().message();
}

TEST_F(SharedEnd, RanksThatAreAlwaysBothRootAreToldWhenOneNeedsTheOther) {
  make(false);
  SharedPlane* const planes[] = {first_.get(), second_.get()};
  std::byte items[2] = {};
  for (std::size_t i = 0; i < 3 * kRing; ++i) {
    for (const int rank : {0, 1}) {
      Call call = call_of(Operation::broadcast, 1, &items[rank], &items[rank]);
      call.root = rank;
      ASSERT_TRUE(planes[rank]->run(call, 0, seconds(30)));
    }
  }
  const auto waiting = first_->start(call_of(Operation::barrier, 0, nullptr, nullptr), 0);
  ASSERT_TRUE(waiting);
  const auto met = second_->run(call_of(Operation::barrier, 0, nullptr, nullptr), 0, seconds(30));
  ASSERT_FALSE(met);
  EXPECT_TRUE(met.error().is(Errc::mismatch)) << met.error().message();
}

TEST_F(SharedEnd, ARootFailsWhoseTakerGaveUp) {
  make(false);
  std::byte item{1};
  EXPECT_FALSE(second_->run(call_of(Operation::broadcast, 1, nullptr, &item), 0, milliseconds(20)));
  const auto given = first_->run(call_of(Operation::broadcast, 1, &item, &item), 0, seconds(30));
  ASSERT_FALSE(given);
  EXPECT_TRUE(given.error().is(Errc::cancelled)) << given.error().message();
}

TEST_F(SharedEnd, WhoClosesWhileOthersReadItsMemoryEndsTheirCall) {
  make(true);
  Bytes input(kBlock);
  Bytes output(2 * kBlock);
  ASSERT_TRUE(
      second_->start(call_of(Operation::allgather, kBlock, input.data(), output.data()), 0));
  second_->close();
  Bytes own(kBlock);
  Bytes all(2 * kBlock);
  const auto result =
      first_->run(call_of(Operation::allgather, kBlock, own.data(), all.data()), 0, seconds(30));
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().is(Errc::rank_lost)) << result.error().message();
}

TEST_F(SharedEnd, WhoClosesAfterItsCallsLeavesTheOthersTheirs) {
  make(true);
  std::byte item{5};
  ASSERT_TRUE(first_->run(call_of(Operation::broadcast, 1, &item, &item), 0, seconds(30)));
  first_->close();
  std::byte got{};
  EXPECT_TRUE(second_->run(call_of(Operation::broadcast, 1, nullptr, &got), 0, seconds(30)));
  EXPECT_EQ(got, item);
}

TEST_F(SharedEnd, MemoryThatCannotBeWrittenEndsTheGroupAndSaysSo) {
  make(true);
  void* const none =
      ::mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(none, MAP_FAILED);
  auto* const output = static_cast<std::byte*>(none);
  ASSERT_EQ(::mprotect(output + kBlock / 2, 4096, PROT_NONE), 0);
  Bytes input(kBlock);
  std::thread thread([&] {
    const auto lent = first_->run(call_of(Operation::broadcast, kBlock, input.data(), input.data()),
                                  0, seconds(30));
    EXPECT_FALSE(lent);
  });
  const auto result =
      second_->run(call_of(Operation::broadcast, kBlock, nullptr, output), 0, seconds(30));
  thread.join();
  ::munmap(none, kBlock);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("rank 0: read"), std::string::npos)
      << result.error().message();
}

/// What a rank lends to the first one, in a group of three of which the last never calls.
class SharedGift : public testing::TestWithParam<Operation> {
 protected:
  SharedGift() { wish_for(*root_, Way::lend); }
  [[nodiscard]] std::shared_ptr<SharedPlane> plane(int rank) const {
    return plane_of(file_.get(), rank, 3, true);
  }
  [[nodiscard]] Call gift(const std::byte* input) const {
    return call_of(GetParam(), kBlock, input, nullptr);
  }

  const FileDescriptor file_ = segment_for(3);
  const std::shared_ptr<SharedPlane> root_ = plane(0);
  const std::shared_ptr<SharedPlane> giver_ = plane(1);
  const std::shared_ptr<SharedPlane> third_ = plane(2);
};

INSTANTIATE_TEST_SUITE_P(SharedEnd, SharedGift,
                         testing::Values(Operation::gather, Operation::reduce),
                         [](const auto& gift) { return std::string(name(gift.param)); });

TEST_P(SharedGift, ToARootThatHasLeftIsOver) {
  root_->close();
  const Bytes input(kBlock);
  const auto given = giver_->run(gift(input.data()), 0, seconds(30));
  EXPECT_TRUE(given) << given.error().message();
}

TEST_P(SharedGift, ToARootThatLeavesIsOver) {
  const Bytes input(kBlock);
  const auto given = giver_->start(gift(input.data()), 0);
  ASSERT_TRUE(given);
  EXPECT_FALSE((*given)->test().value_or(true));
  root_->close();
  EXPECT_TRUE((*given)->wait(seconds(30)));
}

TEST_P(SharedGift, InTheArenaToARootThatHasLeftIsOver) {
  root_->close();
  const auto memory = giver_->segment().allocate(kBlock);
  ASSERT_TRUE(memory);
  const auto given = giver_->run(gift(memory->bytes.data()), 0, seconds(30));
  EXPECT_TRUE(given) << given.error().message();
}

}  // namespace
}  // namespace muster::comm::collective::shared
