#include "muster/comm/driver/shm/short_frame.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "muster/base/random.h"
#include "muster/comm/errc.h"

namespace muster::comm::shm {
namespace {

const InstanceId kWriter(7);

Message short_message(Body body) {
  Message message;
  message.tag = "rollout";
  message.body = std::move(body);
  message.session_id = {kWriter, 3};
  message.message_id = {kWriter, 9};
  return message;
}

std::vector<std::byte> encoded(const Message& message) {
  std::vector<std::byte> frame(short_frame_bytes(message, kWriter));
  encode_short_frame(message, frame.size(), frame.data());
  return frame;
}

TEST(ShortFrame, BringsMessagesAcross) {
  for (const std::size_t size : {0, 1, 7, 8, 64, 65, 3000}) {
    for (const std::string& tag : {std::string(), std::string("rollout"), std::string(200, 't')}) {
      const std::vector<std::byte> bytes(size, std::byte{5});
      for (const Body& body :
           {Body::bytes(bytes), Body::text(as_text(bytes)), Body::json(as_text(bytes)),
            Body::python(Buffer::copy_of(bytes), {})}) {
        Message message = short_message(body);
        message.tag = tag;
        message.session_type = SessionType::notification;
        message.session_stage = SessionStage::receive;
        const auto frame = encoded(message);
        ASSERT_EQ(frame.size() % 8, 0u);
        Message read = short_message(Body::array<double>(std::vector<double>{1.0}));
        read.tag_origin = "left over";
        ASSERT_TRUE(ShortFrameReader(kWriter).read(frame, read).has_value());
        EXPECT_EQ(read.tag, message.tag);
        EXPECT_EQ(read.tag_origin, "");
        EXPECT_EQ(read.session_id, message.session_id);
        EXPECT_EQ(read.message_id, message.message_id);
        EXPECT_EQ(read.session_type, message.session_type);
        EXPECT_EQ(read.session_stage, message.session_stage);
        EXPECT_EQ(read.body, message.body);
      }
    }
  }
}

TEST(ShortFrame, IsNotForMessagesThatNeedMore) {
  const auto bytes_with = [](auto change) {
    Message message = short_message(Body::text("x"));
    change(message);
    return short_frame_bytes(message, kWriter);
  };
  EXPECT_NE(bytes_with([](Message&) {}), 0u);
  EXPECT_EQ(bytes_with([](Message& m) { m.tag_origin = "package.module:Color.red"; }), 0u);
  EXPECT_EQ(bytes_with([](Message& m) { m.tag = std::string(256, 't'); }), 0u);
  EXPECT_EQ(bytes_with([](Message& m) { m.session_id.origin = InstanceId(8); }), 0u);
  EXPECT_EQ(bytes_with([](Message& m) { m.message_id.origin = InstanceId(8); }), 0u);
  EXPECT_EQ(bytes_with([](Message& m) { m.session_id.number = std::uint64_t{1} << 32; }), 0u);
  EXPECT_EQ(bytes_with([](Message& m) { m.message_id.number = std::uint64_t{1} << 32; }), 0u);
  EXPECT_EQ(bytes_with([](Message& m) { m.body = Body::array<int>(std::vector<int>{1}); }), 0u);
  EXPECT_EQ(bytes_with([](Message& m) {
              m.body = Body::python(Buffer::copy_of(as_bytes("pickle")), {Buffer()});
            }),
            0u);
}

TEST(ShortFrame, RefusesWhatMakesNoSense) {
  const auto refused_with = [](std::size_t index, unsigned value) {
    auto frame = encoded(short_message(Body::text("hello")));
    frame[index] = static_cast<std::byte>(value);
    Message message;
    const auto read = ShortFrameReader(kWriter).read(frame, message);
    return !read && read.error().is(Errc::malformed);
  };
  EXPECT_TRUE(refused_with(0, 8));     // length
  EXPECT_TRUE(refused_with(4, 200));   // tag
  EXPECT_TRUE(refused_with(5, 0x30));  // stage
  EXPECT_TRUE(refused_with(5, 0x21));  // stage of a notification
  EXPECT_TRUE(refused_with(5, 0x02));  // type
  EXPECT_TRUE(refused_with(6, 3));     // an array
  EXPECT_TRUE(refused_with(6, 5));     // type of body
  EXPECT_TRUE(refused_with(7, 0xC0));  // mark
  EXPECT_TRUE(refused_with(8, 0));     // session number
  EXPECT_TRUE(refused_with(12, 0));    // message number
}

TEST(ShortFrame, SurvivesTruncationAndRandomBytes) {
  Random random(20261116);
  const auto original = encoded(short_message(Body::text("hello")));
  for (std::size_t size = 0; size < original.size(); ++size) {
    Message message;
    ASSERT_FALSE(
        ShortFrameReader(kWriter).read(ByteSpan(original).first(size), message).has_value());
  }
  for (int i = 0; i < 20'000; ++i) {
    auto frame = original;
    for (int k = 0; k < 4; ++k)
      frame[random.below(frame.size())] = static_cast<std::byte>(random.below(256));
    Message message;
    static_cast<void>(ShortFrameReader(kWriter).read(frame, message));
  }
}

}  // namespace
}  // namespace muster::comm::shm
