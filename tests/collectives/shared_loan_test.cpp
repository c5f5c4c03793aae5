#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <set>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "tests/collectives/planes.h"
#include "tests/collectives/two_ranks.h"
#include "tests/support/child.h"

// What ranks lend each other of their memory, and what happens where that cannot be read.

namespace muster::comm::collective::shared {
namespace {

using collective::Operation;
using std::chrono::milliseconds;
using std::chrono::seconds;

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
class SharedSecret : public TwoRanks {
 protected:
  void SetUp() override {
    if (input_.data() == nullptr || output_.data() == nullptr) GTEST_SKIP() << "no memfd_secret";
    make(true);
    std::fill_n(input_.data(), kBlock, std::byte{1});
  }
  /// So many calls that two ways of giving have had their turn.
  static std::uint32_t all_ways(Operation operation) {
    return 2 * Contest::of(kind_of(operation, kBlock), true).trial() + 2;
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
  for (std::uint32_t i = 0;
       i < Contest::of(kind_of(Operation::allreduce, kBlock), true).trial() + 1; ++i)
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

using SharedLoan = TwoRanks;

// Such a process lives, and nobody can read it any more. Whether it has died is known after a
// lease.
TEST_F(SharedLoan, ACallFailsWhoseLenderHasLostItsMainThread) {
  constexpr Duration kLong = seconds(2);  // and less than an ordinary lease
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
  SharedPlane::Options options;
  options.lends = true;
  options.lease = milliseconds(50);
  second_ = plane_of(file_.get(), 1, 2, std::move(options));
  while (!second_->segment().all_are_here()) std::this_thread::yield();
  Bytes got(kBlock);
  const auto taken =
      second_->run(call_of(Operation::broadcast, kBlock, nullptr, got.data()), 0, kLong);
  ASSERT_FALSE(taken);
  EXPECT_FALSE(taken.error().is(Errc::timeout)) << taken.error().message();
  EXPECT_NE(taken.error().message().find("rank 0: read"), std::string::npos)
      << taken.error().message();
  EXPECT_EQ(child.wait(), 0);
}

// Nobody tells this rank that the process has ended; it is reaped late, or at once.
TEST_F(SharedLoan, ACallNamesALenderThatHasDied) {
  for (const bool reaped : {false, true}) {
    const FileDescriptor file = segment_for(2);
    const test::Milestone lent;
    test::Child child([&] {
      const auto lender = plane_of(file.get(), 0, 2, true);
      Bytes input(kBlock);
      const auto call = lender->start(
          call_of(Operation::broadcast, kBlock, input.data(), input.data()), 0, seconds(60));
      lent.reach();
      ::pause();
    });
    ASSERT_TRUE(lent.wait());
    child.signal(SIGKILL);
    siginfo_t end{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &end, WEXITED | WNOWAIT), 0);
    if (reaped) {
      EXPECT_EQ(child.wait(), -SIGKILL);
    }
    SharedPlane::Options options;
    options.lends = true;
    options.lease = milliseconds(1);
    second_ = plane_of(file.get(), 1, 2, std::move(options));
    Bytes got(kBlock);
    const auto taken =
        second_->run(call_of(Operation::broadcast, kBlock, nullptr, got.data()), 0, seconds(30));
    ASSERT_FALSE(taken);
    EXPECT_TRUE(taken.error().is(Errc::rank_lost)) << taken.error().message();
    EXPECT_NE(taken.error().message().find("rank 0 of group 'test' is lost"), std::string::npos)
        << taken.error().message();
  }
}

TEST_F(SharedLoan, OneRankInPlaceAndTheOtherNotGetWhatTheyWereSent) {
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

/// How those give to a rank who do so in blocks of `kBlock`.
Way wish_of(const SharedPlane& plane, Operation operation) {
  return Channel(plane.segment(), 0, seconds(3), true)
      .wish(plane.segment().rank(), kind_of(operation, kBlock));
}

TEST_F(SharedLoan, AllWaysAreTriedInPlaceThoughNobodyCanLendThere) {
  make(true);
  for (const Operation operation : {Operation::all_to_all, Operation::reduce_scatter}) {
    Bytes items[2] = {Bytes(2 * kBlock), Bytes(2 * kBlock)};
    std::set<Way> wishes;
    const std::uint32_t trial = Contest::of(kind_of(operation, kBlock), true).trial();
    for (std::uint32_t i = 0; i < kWays.size() * trial; ++i) {
      run_on_both(call_of(operation, kBlock, items[0].data(), items[0].data()),
                  call_of(operation, kBlock, items[1].data(), items[1].data()));
      wishes.insert(wish_of(*first_, operation));
    }
    EXPECT_EQ(wishes.size(), kWays.size()) << name(operation);
  }
}

TEST_F(SharedLoan, CallsOutOfTheArenaTellNothingOfTheOtherWays) {
  make(true);
  auto memory = first_->segment().allocate(kBlock);
  ASSERT_TRUE(memory);
  Bytes got(kBlock);
  for (const Operation operation : {Operation::broadcast, Operation::reduce}) {
    // Long enough for the first way, and not for the second.
    const std::uint32_t trial = Contest::of(kind_of(operation, kBlock), true).trial();
    for (std::uint32_t i = 0; i < trial + 1; ++i) {
      Call given = call_of(operation, kBlock, memory->bytes.data(), memory->bytes.data());
      Call taken = call_of(operation, kBlock, got.data(), got.data());
      if (operation == Operation::reduce) {
        given.root = taken.root = 1;
        given.output = nullptr;
      }
      run_on_both(given, taken);
    }
    EXPECT_EQ(wish_of(*second_, operation), usual_way(kind_of(operation, kBlock), true))
        << name(operation);
  }
}

TEST_F(SharedLoan, ARankThatDoesNotWantToLendIsHeard) {
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

TEST_F(SharedLoan, RanksTryToReadEachOtherWhenAllAreThere) {
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
