#include "muster/comm/collective/shared/channel.h"

#include <atomic>
#include <thread>
#include <unistd.h>

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
  const Channel writer{*first_.value(), 0};
  const Channel reader{*second_.value(), 0};
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

}  // namespace
}  // namespace muster::comm::collective::shared
