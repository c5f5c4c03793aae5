#include "muster/service/python/frames.h"

#include <array>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::service {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Packet packet_of(PackedFrame frame) {
  Packet packet;
  packet.bytes = std::move(frame.packet);
  if (frame.file) packet.files.push_back(std::move(frame.file));
  return packet;
}

PackedFrame packed(const json& head, std::span<const ByteSpan> extra = {}) {
  auto frame = pack_frame(head, extra);
  EXPECT_TRUE(frame) << frame.error().message();
  return std::move(*frame);
}

std::string refusal(Packet packet) {
  const auto frame = read_frame(std::move(packet));
  return frame ? "it was taken" : frame.error().message();
}

TEST(PythonFrames, ComeBackAsTheyWere) {
  const std::string first = "abc";
  const std::string second(100, 'x');
  const std::array parts{as_bytes(first), as_bytes(second)};
  EXPECT_EQ(part_starts(parts), (std::vector<std::size_t>{0, 64}));
  const auto frame = read_frame(packet_of(packed({{"a", 1}}, parts)));
  ASSERT_TRUE(frame) << frame.error().message();
  EXPECT_EQ(frame->head, json({{"a", 1}}));
  EXPECT_EQ(as_text(frame->extra.first(3)), first);
  EXPECT_EQ(as_text(frame->extra.subspan(64)), second);
}

TEST(PythonFrames, LongOnesAreInMemoryOfTheirOwn) {
  const std::string many(1 << 20, 'y');
  const std::array parts{as_bytes(many)};
  PackedFrame sent = packed({{"b", "text"}}, parts);
  EXPECT_TRUE(sent.file);
  EXPECT_LT(sent.packet.size(), 100U);
  const auto frame = read_frame(packet_of(std::move(sent)));
  ASSERT_TRUE(frame) << frame.error().message();
  EXPECT_EQ(as_text(frame->extra), many);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame->extra.data()) % kFrameAlignment, 0U);
}

TEST(PythonFrames, NothingMalformedIsTaken) {
  const auto change = [](std::size_t at, unsigned char value) {
    Packet packet = packet_of(packed({{"a", 1}}));
    packet.bytes.at(at) = std::byte{value};
    return refusal(std::move(packet));
  };
  EXPECT_THAT(change(0, 'X'), HasSubstr("another kind"));
  EXPECT_THAT(change(20, 1), HasSubstr("another kind"));
  EXPECT_THAT(change(7, 0xFF), HasSubstr("bytes"));   // a head longer than the body
  EXPECT_THAT(change(8, 1), HasSubstr("bytes"));      // a body of another length
  EXPECT_THAT(change(16, 1), HasSubstr("0 files"));   // a body in a file that is not there
  EXPECT_THAT(change(24, '['), HasSubstr("object"));  // a head that is no JSON
  Packet cut;
  cut.bytes.resize(10);
  EXPECT_THAT(refusal(std::move(cut)), HasSubstr("cut off"));
  Packet truncated = packet_of(packed({{"a", 1}}));
  truncated.truncated = true;
  EXPECT_THAT(refusal(std::move(truncated)), HasSubstr("cut off"));
}

TEST(PythonFrames, MemoryThatCouldShrinkIsRefused) {
  const std::string many(1 << 20, 'y');
  const std::array parts{as_bytes(many)};
  Packet packet = packet_of(packed({}, parts));
  packet.files.front() = FileDescriptor(::memfd_create("loose", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(packet.files.front().get(), (1 << 20) + 64), 0);
  EXPECT_THAT(refusal(std::move(packet)), HasSubstr("sealed"));
}

}  // namespace
}  // namespace muster::service
