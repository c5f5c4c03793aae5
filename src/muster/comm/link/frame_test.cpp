#include "muster/comm/link/frame.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "muster/comm/link/batch.h"

namespace muster::comm {
namespace {

const InstanceId kSender(7);

Message sample(std::uint64_t number, Body body) {
  Message message;
  message.tag = "rollout";
  message.body = std::move(body);
  message.session_id = {kSender, 3};
  message.message_id = {kSender, number};
  return message;
}

Body sized(std::size_t bytes) {
  return Body::bytes(Buffer::take(std::vector<std::byte>(bytes, std::byte{42})));
}

Frame data_frame(const std::vector<Message>& messages) {
  Batch batch(kSender);
  for (const Message& message : messages) batch.add(message);
  const FinishedBatch finished = batch.finish();
  encode_header(
      {.kind = FrameKind::data,
       .source = kSender,
       .destination = InstanceId(8),
       .source_epoch = 1,
       .destination_epoch = 2,
       .seq = 5,
       .ack = 4,
       .credit = 3,
       .records = finished.records,
       .payload_bytes = static_cast<std::uint32_t>(finished.frame.head.size() - kFrameHeaderBytes)},
      finished.header);
  return finished.frame;
}

Frame small_sample() {
  return data_frame(
      {sample(1, Body::text("text")), sample(2, sized(5000)),
       sample(3, Body::python(Buffer::copy_of(as_bytes("pickle")),
                              {sized(100).buffer(), sized(9000).buffer(), Buffer()}))});
}

Frame with_head(const Frame& frame, std::vector<std::byte> head) {
  return {.head = Buffer::take(std::move(head)), .parts = frame.parts};
}

std::vector<std::byte> head_of(const Frame& frame) {
  return {frame.head.bytes().begin(), frame.head.bytes().end()};
}

void expect_malformed(const Frame& frame, std::string_view complaint) {
  const auto result = decode_frame(frame);
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is(Errc::malformed));
  EXPECT_NE(result.error().message().find(complaint), std::string::npos)
      << result.error().message();
}

TEST(Frame, BringsSmallAndLargeBuffersAcross) {
  const auto decoded = decode_frame(small_sample());
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message();
  EXPECT_EQ(decoded->header.seq, 5u);
  ASSERT_EQ(decoded->messages.size(), 3u);
  EXPECT_EQ(decoded->messages[0].body, Body::text("text"));
  EXPECT_EQ(decoded->messages[1].body, sized(5000));
  EXPECT_EQ(decoded->messages[2].body.buffer_count(), 4u);
  EXPECT_EQ(decoded->messages[2].body.buffer(2), sized(9000).buffer());
}

TEST(Frame, SharesLargeBuffersWithTheSender) {
  const Body body = sized(5000);
  const Frame frame = data_frame({sample(1, body)});
  ASSERT_EQ(frame.parts.size(), 1u);
  EXPECT_EQ(frame.parts[0].data(), body.buffer().data());
  EXPECT_EQ(decode_frame(frame)->messages[0].body.buffer().data(), body.buffer().data());
}

TEST(Frame, KeepsNoWholeFrameAliveForASmallBuffer) {
  const Frame frame = data_frame({sample(1, sized(100)), sample(2, sized(4000))});
  const auto decoded = decode_frame(frame);
  EXPECT_NE(decoded->messages[0].body.buffer().owner(), frame.head.owner());
  EXPECT_EQ(decoded->messages[1].body.buffer().owner(), frame.head.owner());
}

TEST(Frame, RefusesEveryTruncation) {
  const Frame frame = small_sample();
  for (std::size_t size = 0; size < frame.head.size(); ++size) {
    auto head = head_of(frame);
    head.resize(size);
    const auto result = decode_frame(with_head(frame, std::move(head)));
    ASSERT_FALSE(result.has_value()) << size;
    EXPECT_TRUE(result.error().is(Errc::malformed));
  }
}

TEST(Frame, RefusesEveryTruncationThatItsLengthFieldAdmits) {
  const Frame frame = small_sample();
  for (std::size_t size = kFrameHeaderBytes; size < frame.head.size(); ++size) {
    auto head = head_of(frame);
    head.resize(size);
    auto header = *decode_header(frame);
    header.payload_bytes = static_cast<std::uint32_t>(size - kFrameHeaderBytes);
    encode_header(header, head.data());
    EXPECT_FALSE(decode_frame(with_head(frame, std::move(head))).has_value()) << size;
  }
}

TEST(Frame, SurvivesEveryFlippedBit) {
  const Frame frame = small_sample();
  for (std::size_t bit = 0; bit < 8 * frame.head.size(); ++bit) {
    auto head = head_of(frame);
    head[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto result = decode_frame(with_head(frame, std::move(head)));
    EXPECT_TRUE(result.has_value() || result.error().is(Errc::malformed));
  }
}

TEST(Frame, RefusesANewerVersion) {
  const Frame frame = small_sample();
  auto head = head_of(frame);
  head[4] = std::byte{2};
  expect_malformed(with_head(frame, std::move(head)), "frame version 2; this side speaks 1");
}

TEST(Frame, RefusesMissingAndSuperfluousParts) {
  Frame frame = small_sample();
  frame.parts.push_back(sized(5000).buffer());
  expect_malformed(frame, "3 parts where the records announce 2");
  frame = small_sample();
  frame.parts.pop_back();
  expect_malformed(frame, "the part with 9000 bytes is missing");
  std::swap(frame.parts[0], frame.parts.emplace_back(sized(9000).buffer()));
  expect_malformed(frame, "a part has 9000 bytes where 5000 are announced");
}

TEST(Frame, RefusesMoreRecordsThanFit) {
  const Frame frame = small_sample();
  auto head = head_of(frame);
  auto header = *decode_header(frame);
  header.records = 1'000'000'000;
  encode_header(header, head.data());
  expect_malformed(with_head(frame, std::move(head)), "1000000000 records");
}

TEST(Frame, RefusesAPayloadInAnAck) {
  const FrameHeader ack{
      .kind = FrameKind::ack, .source = kSender, .destination = InstanceId(8), .source_epoch = 1};
  EXPECT_TRUE(decode_frame(make_frame(ack)).has_value());
  expect_malformed(make_frame(ack, as_bytes("x")), "payload");
}

}  // namespace
}  // namespace muster::comm
