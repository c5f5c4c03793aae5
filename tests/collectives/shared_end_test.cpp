#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "muster/base/utf8.h"
#include "muster/comm/errc.h"
#include "tests/collectives/planes.h"
#include "tests/support/child.h"

// How calls end when a rank gives up, leaves, or cannot go on.

namespace muster::comm::collective::shared {
namespace {

using collective::Operation;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Bytes = std::vector<std::byte>;

// One that is lent in the first call already, where ranks may lend.
constexpr std::size_t kBlock = std::size_t{256} << 10;

Call call_of(Operation operation, std::size_t count, const std::byte* input, std::byte* output) {
  Call call;
  call.operation = operation;
  call.element = Element::u8;
  call.count = count;
  call.input = input;
  call.output = output;
  return call;
}

/// Two ranks.
class SharedEnd : public testing::Test {
 protected:
  void make(bool lends) {
    first_ = plane_of(file_.get(), 0, 2, lends);
    second_ = plane_of(file_.get(), 1, 2, lends, [this] {
      if (const auto step = std::exchange(before_second_speaks_, nullptr)) step();
    });
  }
  /// Both do it, and it goes well.
  void run_on_both(const Call& first, const Call& second) const {
    const auto run = [](SharedPlane& plane, const Call& call) {
      const auto result = plane.run(call, 0, seconds(30));
      EXPECT_TRUE(result) << result.error().message();
    };
    std::thread thread([&] { run(*first_, first); });
    run(*second_, second);
    thread.join();
  }
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

  const FileDescriptor file_ = segment_for(2);
  std::function<void()> before_second_speaks_;  // the next time
  std::shared_ptr<SharedPlane> first_;
  std::shared_ptr<SharedPlane> second_;
};

class SharedLate : public SharedEnd, public testing::WithParamInterface<Operation> {};

INSTANTIATE_TEST_SUITE_P(SharedEnd, SharedLate,
                         testing::Values(Operation::broadcast, Operation::gather,
                                         Operation::reduce),
                         [](const auto& late) { return std::string(name(late.param)); });

TEST_P(SharedLate, NobodyTakesWhatWasLentForACallThatWasGivenUp) {
  make(true);
  wish_for_loans(*second_);
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
  wish_for_loans(*second_);
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
  wish_for_loans(*first_);
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

/// Memory that no other process can read; where `data` was, if it is given.
class SecretMemory {
 public:
  explicit SecretMemory(std::byte* data = nullptr) {
    const FileDescriptor file(static_cast<int>(::syscall(SYS_memfd_secret, 0)));
    if (!file || ::ftruncate(file.get(), kBlock) != 0) return;
    void* const at = ::mmap(data, kBlock, PROT_READ | PROT_WRITE,
                            MAP_SHARED | (data == nullptr ? 0 : MAP_FIXED), file.get(), 0);
    if (at != MAP_FAILED) data_ = static_cast<std::byte*>(at);
  }
  SecretMemory(const SecretMemory&) = delete;
  SecretMemory& operator=(const SecretMemory&) = delete;
  ~SecretMemory() {
    if (data_ != nullptr) ::munmap(data_, kBlock);
  }

  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// Two ranks that lend, and memory that they cannot read.
class SharedSecret : public SharedEnd {
 protected:
  void SetUp() override {
    if (input_.data() == nullptr || output_.data() == nullptr) GTEST_SKIP() << "no memfd_secret";
    make(true);
    std::fill_n(input_.data(), kBlock, std::byte{1});
  }
  /// So many calls that both ways of giving have had their turn.
  static std::uint32_t all_ways(Operation operation) {
    return 2 * Contest::of(kind_of(operation, kBlock)).trial() + 2;
  }
  static bool all_are(const std::byte* data, int item) {
    return std::all_of(data, data + kBlock,
                       [&](std::byte byte) { return byte == std::byte(item); });
  }

  const SecretMemory input_;
  const SecretMemory output_;
  const Bytes others_ = Bytes(2 * kBlock, std::byte{2});
  Bytes got_ = Bytes(2 * kBlock);
};

TEST_F(SharedSecret, IsLentAsACopy) {
  for (const Operation operation :
       {Operation::broadcast, Operation::reduce, Operation::allreduce}) {
    const bool combines = is_reducing(operation);
    for (std::uint32_t i = 0; i < all_ways(operation); ++i) {
      // The root gives in a broadcast, and takes in a reduce.
      Call given = call_of(operation, kBlock, input_.data(), output_.data());
      Call taken = call_of(operation, kBlock, others_.data(), got_.data());
      given.root = taken.root = operation == Operation::reduce ? 1 : 0;
      run_on_both(given, taken);
      ASSERT_FALSE(first_->broken()) << name(operation) << ", call " << i;
      ASSERT_TRUE(all_are(got_.data(), combines ? 3 : 1)) << name(operation) << ", call " << i;
      if (operation != Operation::allreduce) continue;
      ASSERT_TRUE(all_are(output_.data(), 3)) << "call " << i;
      std::fill_n(output_.data(), kBlock, std::byte{0});
      std::fill_n(got_.data(), kBlock, std::byte{0});
    }
  }
}

TEST_F(SharedSecret, OfBothRanksIsLentAsACopy) {
  Bytes all(2 * kBlock);
  for (std::uint32_t i = 0; i < all_ways(Operation::allgather); ++i) {
    run_on_both(call_of(Operation::allgather, kBlock, input_.data(), all.data()),
                call_of(Operation::allgather, kBlock, output_.data(), got_.data()));
    ASSERT_FALSE(first_->broken()) << "call " << i;
    ASSERT_TRUE(all_are(got_.data(), 1) && all_are(got_.data() + kBlock, 0)) << "call " << i;
    ASSERT_EQ(all, got_) << "call " << i;
  }
}

TEST_F(SharedSecret, InPlaceIsLentAsACopy) {
  for (std::uint32_t i = 0; i < all_ways(Operation::allreduce); ++i) {
    std::fill_n(input_.data(), kBlock, std::byte{1});
    run_on_both(call_of(Operation::allreduce, kBlock, input_.data(), input_.data()),
                call_of(Operation::allreduce, kBlock, others_.data(), got_.data()));
    ASSERT_FALSE(first_->broken()) << "call " << i;
    ASSERT_TRUE(all_are(got_.data(), 3) && all_are(input_.data(), 3)) << "call " << i;
  }
}

// Ranks have agreed to lend before the first of them has such memory.
TEST_F(SharedSecret, ThatComesLaterIsLentAsACopy) {
  Bytes input(kBlock, std::byte{1});
  Bytes output(kBlock);
  const auto run = [&](const std::byte* from, std::byte* into) {
    run_on_both(call_of(Operation::allreduce, kBlock, from, into),
                call_of(Operation::allreduce, kBlock, others_.data(), got_.data()));
  };
  for (std::uint32_t i = 0; i < Contest::of(kind_of(Operation::allreduce, kBlock)).trial() + 1; ++i)
    run(input.data(), output.data());
  run(input_.data(), output_.data());
  EXPECT_TRUE(all_are(got_.data(), 3) && all_are(output_.data(), 3));
  std::fill_n(output_.data(), kBlock, std::byte{0});
  run(input.data(), output_.data());
  EXPECT_TRUE(all_are(got_.data(), 3) && all_are(output_.data(), 3));
}

TEST_F(SharedSecret, WhereOtherMemoryWasIsLentAsACopy) {
  void* const place =
      ::mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(place, MAP_FAILED);
  auto* const input = static_cast<std::byte*>(place);
  const auto run = [&] {
    run_on_both(call_of(Operation::broadcast, kBlock, input, input),
                call_of(Operation::broadcast, kBlock, nullptr, got_.data()));
  };
  run();
  EXPECT_TRUE(all_are(got_.data(), 0));
  const SecretMemory secret(input);
  ASSERT_EQ(secret.data(), input);
  std::fill_n(input, kBlock, std::byte{7});
  run();
  EXPECT_TRUE(all_are(got_.data(), 7));
}

/// What a rank lends to the first one, in a group of three of which the last never calls.
class SharedGift : public testing::TestWithParam<Operation> {
 protected:
  SharedGift() { wish_for_loans(*root_); }
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

// Such a process lives, and nobody can read it any more.
TEST_F(SharedEnd, ACallFailsWhoseLenderHasLostItsMainThread) {
  test::Child child([&] {
    std::thread([&] {
      const MemoryProof proof;
      while (read_memory(proof.memory(), proof.memory().proof_at, {})) std::this_thread::yield();
      const auto lender = plane_of(file_.get(), 0, 2, true);
      Bytes input(kBlock);
      const auto lent = lender->run(
          call_of(Operation::broadcast, kBlock, input.data(), input.data()), 0, seconds(60));
      ::_exit(lent ? 1 : 0);
    }).detach();
    ::syscall(SYS_exit, 0);  // of this thread
  });
  second_ = plane_of(file_.get(), 1, 2, true);
  Bytes got(kBlock);
  const auto taken =
      second_->run(call_of(Operation::broadcast, kBlock, nullptr, got.data()), 0, seconds(30));
  ASSERT_FALSE(taken);
  EXPECT_FALSE(taken.error().is(Errc::timeout)) << taken.error().message();
  EXPECT_NE(taken.error().message().find("rank 0: read"), std::string::npos)
      << taken.error().message();
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(SharedEnd, OneRankInPlaceAndTheOtherNotGetWhatTheyWereSent) {
  make(true);
  Bytes in_place(2 * kBlock, std::byte{1});
  std::fill_n(in_place.begin() + kBlock, kBlock, std::byte{2});
  Bytes input(2 * kBlock, std::byte{3});
  std::fill_n(input.begin() + kBlock, kBlock, std::byte{4});
  Bytes output(2 * kBlock);
  run_on_both(call_of(Operation::all_to_all, kBlock, in_place.data(), in_place.data()),
              call_of(Operation::all_to_all, kBlock, input.data(), output.data()));
  const auto all_are = [](const Bytes& bytes, std::size_t block, int item) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(block * kBlock);
    return std::all_of(begin, begin + kBlock,
                       [&](std::byte byte) { return byte == std::byte(item); });
  };
  EXPECT_TRUE(all_are(in_place, 0, 1));
  EXPECT_TRUE(all_are(in_place, 1, 3));
  EXPECT_TRUE(all_are(output, 0, 2));
  EXPECT_TRUE(all_are(output, 1, 4));
}

TEST_F(SharedEnd, ARankThatDoesNotWantToLendIsHeard) {
  for (const auto& [set, lends] :
       {std::pair{"0", false}, {"off", false}, {"1", true}, {"", true}}) {
    const FileDescriptor file = segment_for(2);
    first_ = plane_of(file.get(), 0, 2);
    second_ = plane_of(file.get(), 1, 2);
    first_->segment().try_reading();
    ASSERT_EQ(::setenv("MUSTER_LEND", set, 1), 0);
    second_->segment().try_reading();
    ::unsetenv("MUSTER_LEND");
    EXPECT_TRUE(first_->segment().all_have_tried());
    EXPECT_EQ(first_->segment().ranks_can_read_each_other(), lends) << "'" << set << "'";
  }
}

TEST_F(SharedEnd, RanksTryToReadEachOtherWhenAllAreThere) {
  const FileDescriptor file = segment_for(2);
  auto early = Segment::map(FileDescriptor(::dup(file.get())), 1, 2);
  ASSERT_TRUE(early);
  EXPECT_FALSE((*early)->all_are_here());
  auto late = Segment::map(FileDescriptor(::dup(file.get())), 0, 2);
  ASSERT_TRUE(late);
  EXPECT_TRUE((*early)->all_are_here());
  (*early)->try_reading();
  EXPECT_FALSE((*early)->all_have_tried());
  (*late)->try_reading();
  EXPECT_TRUE((*early)->all_have_tried());
  EXPECT_TRUE((*early)->ranks_can_read_each_other());
}

}  // namespace
}  // namespace muster::comm::collective::shared
