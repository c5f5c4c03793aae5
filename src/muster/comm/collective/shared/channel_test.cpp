#include "muster/comm/collective/shared/channel.h"

#include <atomic>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace muster::comm::collective::shared {
namespace {

Signature signature_at(std::uint64_t position) {
  Signature signature;
  signature.earlier = static_cast<std::uint16_t>(position / kRing);
  signature.count = position;
  return signature;
}

/// The same channel, as each of two ranks has it.
class ChannelTest : public testing::Test {
 protected:
  using Mapped = decltype(Segment::map(FileDescriptor(), 0, 2));

  [[nodiscard]] Mapped map(int rank) const {
    return Segment::map(FileDescriptor(::dup(file_.value().get())), rank, 2);
  }

  const Result<FileDescriptor> file_ = Segment::create(2);
  const Mapped first_ = map(0);
  const Mapped second_ = map(1);
  Channel writer{*first_.value(), 0, Duration::zero()};
  Channel reader{*second_.value(), 0, Duration::zero()};
};

TEST_F(ChannelTest, NeverTakesWhatIsSaidARingLaterForAnotherCall) {
  std::atomic<std::uint64_t> said{0};
  std::thread thread([&] {
    for (std::uint64_t position = 0; position < 3'000'000 * kRing; position += kRing) {
      writer.say(position, signature_at(position));
      said.store(position, std::memory_order_relaxed);
    }
    said.store(UINT64_MAX, std::memory_order_relaxed);
  });
  int wrong = 0;
  for (std::uint64_t position = 0; position != UINT64_MAX;
       position = said.load(std::memory_order_relaxed)) {
    for (int look = 0; look < 20; ++look)
      if (reader.look(0, position, signature_at(position)) == Channel::Look::differs) ++wrong;
  }
  thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ChannelTest, TellsACallThatDiffers) {
  EXPECT_EQ(reader.look(0, 3, signature_at(3)), Channel::Look::nothing);
  writer.say(3, signature_at(3));
  EXPECT_EQ(reader.look(0, 3, signature_at(3)), Channel::Look::same);
  EXPECT_EQ(reader.look(0, 3, signature_at(4)), Channel::Look::differs);
  EXPECT_EQ(reader.look(0, 3 + kRing, signature_at(3)), Channel::Look::nothing);
}

// The slot of a step is that of another one half a turn ago, in a call with half as many slots.
TEST_F(ChannelTest, KeepsWhatACallWithFewSlotsStagedUntilAllHaveIt) {
  constexpr std::uint64_t kEnd = 2 * kFewSlots;
  writer.use_slots(kFewSlots);
  ASSERT_EQ(writer.staging(kEnd - 1), writer.staging(kFewSlots - 1));
  writer.finish(kEnd);
  writer.move_to(kEnd);
  reader.finish(kEnd - 1);
  writer.use_slots(kSlots);
  ASSERT_EQ(writer.staging(kEnd + kFewSlots - 1), writer.staging(kFewSlots - 1));
  EXPECT_TRUE(writer.may_say(kEnd + kFewSlots - 2));
  EXPECT_FALSE(writer.may_say(kEnd + kFewSlots - 1));
  reader.finish(kEnd);
  EXPECT_TRUE(writer.may_say(kEnd + kFewSlots - 1));
  // From here on nothing of that call is in the way.
  EXPECT_TRUE(writer.may_say(kEnd + kSlots - 1));
  EXPECT_FALSE(writer.may_say(kEnd + kSlots));
}

Signature rooted_at(std::uint64_t position) {
  Signature signature = signature_at(position);
  signature.operation = Operation::gather;
  return signature;
}

TEST_F(ChannelTest, PacksSmallRootedCallsSideBySide) {
  Parcel before = writer.pack(8, rooted_at(0));
  for (std::uint64_t position = 1; position < 1000; ++position) {
    writer.move_to(position);
    writer.move_past(before);
    const Parcel parcel = writer.pack(position % (kInlineBytes + 1), rooted_at(position));
    ASSERT_TRUE(parcel.is_packed());
    ASSERT_LE(parcel.end, kPackedBytes);
    ASSERT_TRUE(parcel.at == before.end || parcel.at == 0) << position;
    before = parcel;
  }
}

TEST_F(ChannelTest, LeavesCallsInTheirLinesInWhichAllWaitForEachOther) {
  EXPECT_FALSE(writer.pack(8, signature_at(0)).is_packed());
}

TEST_F(ChannelTest, KeepsWhatIsPackedForARingOfTheLargest) {
  std::vector<Parcel> last;
  std::uint64_t position = 0;
  const auto pack = [&](std::size_t bytes) {
    writer.move_to(position);
    const Parcel parcel = writer.pack(bytes, rooted_at(position));
    for (const Parcel& other : last)
      ASSERT_TRUE(parcel.end <= other.at || other.end <= parcel.at) << position;
    last.push_back(parcel);
    if (last.size() == kRing) last.erase(last.begin());
    writer.move_past(parcel);
    ++position;
  };
  // Some smaller ones before the largest: these then end at any place before the end of the room.
  for (std::size_t smaller = 0; smaller < kInlineBytes; smaller += 8) {
    for (std::size_t count = 1; count < kRing; ++count) {
      for (std::size_t i = 0; i < count; ++i) pack(smaller);
      for (std::size_t i = 0; i < 2 * kRing; ++i) pack(kInlineBytes);
    }
  }
}

TEST_F(ChannelTest, TakesAParcelForSealedOnlyOnceThatCallIs) {
  const Parcel first = writer.pack(16, rooted_at(0));
  ASSERT_EQ(reader.pack(16, rooted_at(0)).seal, first.seal);
  EXPECT_FALSE(reader.is_sealed(0, first));
  writer.seal(first);
  EXPECT_TRUE(reader.is_sealed(0, first));
  EXPECT_FALSE(reader.is_sealed(0, reader.pack(16, rooted_at(1))));
  reader.move_to(1);
  EXPECT_FALSE(reader.is_sealed(0, reader.pack(16, rooted_at(0))));
}

TEST_F(ChannelTest, FindsNothingOutsideAnArena) {
  Segment& segment = *second_.value();
  const std::uint64_t all = segment.header().arena_bytes;
  EXPECT_NO_THROW(static_cast<void>(segment.arena(0, all - 8, 8)));
  EXPECT_THROW(static_cast<void>(segment.arena(0, all - 7, 8)), std::runtime_error);
  EXPECT_THROW(static_cast<void>(segment.arena(0, all + 1, 0)), std::runtime_error);
  EXPECT_THROW(static_cast<void>(segment.arena(0, 1, SIZE_MAX)), std::runtime_error);
}

}  // namespace
}  // namespace muster::comm::collective::shared
