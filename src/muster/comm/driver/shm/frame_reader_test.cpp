#include "muster/comm/driver/shm/frame_reader.h"

#include <cstring>

#include <gtest/gtest.h>

#include "muster/base/random.h"
#include "muster/comm/errc.h"

namespace muster::comm::shm {
namespace {

const InstanceId kSender(7);

// One block of 1 KiB, as segment 1.
class OneBlock final : public BlockSource {
 public:
  Result<Piece> piece(const BlockReference& reference) override {
    if (reference.segment != 1 || reference.offset > bytes->size() ||
        reference.bytes > bytes->size() - reference.offset) {
      return fail(Errc::malformed, "no such block");
    }
    return Piece{ByteSpan(*bytes).subspan(reference.offset, reference.bytes), bytes};
  }
  std::shared_ptr<std::vector<std::byte>> bytes =
      std::make_shared<std::vector<std::byte>>(1024, std::byte{9});
};

Message sample(Body body) {
  Message message;
  message.tag = "tag";
  message.session_id = {kSender, 1};
  message.message_id = {kSender, 1};
  message.body = std::move(body);
  return message;
}

template <class T>
void append(std::vector<std::byte>& to, const T& value) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

std::vector<std::byte> finished(std::vector<std::byte> frame) {
  frame.resize(round_up(frame.size(), 8));
  const auto size = static_cast<std::uint32_t>(frame.size());
  std::memcpy(frame.data(), &size, sizeof size);
  return frame;
}

std::vector<std::byte> frame_with(const Message& message, std::uint32_t blocks) {
  std::vector<std::byte> frame;
  append(frame, FrameHead{.bytes = 0, .blocks = blocks});
  frame.resize(sizeof(FrameHead) + record_bytes(message, kSender));
  encode_record(message, kSender, frame.data() + sizeof(FrameHead));
  return frame;
}

std::vector<std::byte> small_frame() {
  auto frame = frame_with(sample(Body::text("hello")), 0);
  for (const std::byte byte : as_bytes("hello")) frame.push_back(byte);
  return finished(std::move(frame));
}

std::vector<std::byte> frame_with_block() {
  const Body body = Body::python(
      Buffer::copy_of(as_bytes("pickle")),
      {Buffer::take(std::vector<std::byte>(100)), Buffer::take(std::vector<std::byte>(70))});
  auto frame = frame_with(sample(body), 1);
  frame.resize(round_up(frame.size(), 8));
  append(frame, BlockReference{.segment = 1, .slot = 5, .offset = 64, .bytes = 256});
  for (const std::uint16_t place : {kInRing, std::uint16_t{0}, std::uint16_t{0}})
    append(frame, place);
  for (const std::byte byte : as_bytes("pickle")) frame.push_back(byte);
  return finished(std::move(frame));
}

TEST(FrameReader, ReadsBodiesInTheRing) {
  FrameReader reader(kSender);
  OneBlock blocks;
  Message message;
  const auto frame = small_frame();
  EXPECT_EQ(reader.read(frame, blocks, message).value(), frame.size());
  EXPECT_EQ(message.body.text(), "hello");
}

TEST(FrameReader, ReadsBuffersWhereTheyLie) {
  FrameReader reader(kSender);
  OneBlock blocks;
  Message message;
  const auto frame = frame_with_block();
  const auto read = reader.read(frame, blocks, message);
  ASSERT_TRUE(read.has_value()) << read.error().message();
  const Body& body = message.body;
  ASSERT_EQ(body.buffer_count(), 3u);
  EXPECT_EQ(body.buffer(0).text(), "pickle");
  EXPECT_EQ(body.buffer(1).data(), blocks.bytes->data() + 64);
  EXPECT_EQ(body.buffer(2).data(), blocks.bytes->data() + 64 + 128);
  EXPECT_EQ(body.buffer(2).size(), 70u);
}

TEST(FrameReader, RefusesEveryTruncation) {
  for (const auto& frame : {small_frame(), frame_with_block()}) {
    for (std::size_t size = 0; size < frame.size(); ++size) {
      FrameReader reader(kSender);
      OneBlock blocks;
      Message message;
      ASSERT_FALSE(reader.read(ByteSpan(frame).first(size), blocks, message).has_value()) << size;
    }
  }
}

TEST(FrameReader, SurvivesEveryFlippedBitAndRandomBytes) {
  for (const auto& original : {small_frame(), frame_with_block()}) {
    for (std::size_t bit = 0; bit < 8 * original.size(); ++bit) {
      auto frame = original;
      frame[bit / 8] ^= std::byte{1} << (bit % 8);
      FrameReader reader(kSender);
      OneBlock blocks;
      Message message;
      static_cast<void>(reader.read(frame, blocks, message));
    }
  }
  Random random(20260131);
  for (int i = 0; i < 20'000; ++i) {
    auto frame = frame_with_block();
    for (int k = 0; k < 8; ++k) {
      frame[random.below(frame.size())] = static_cast<std::byte>(random.below(256));
    }
    FrameReader reader(kSender);
    OneBlock blocks;
    Message message;
    static_cast<void>(reader.read(frame, blocks, message));
  }
}

TEST(FrameReader, RefusesBlocksThatAreNotThere) {
  FrameReader reader(kSender);
  OneBlock blocks;
  Message message;
  auto frame = frame_with_block();
  blocks.bytes->resize(300);
  EXPECT_FALSE(reader.read(frame, blocks, message).has_value());
}

}  // namespace
}  // namespace muster::comm::shm
