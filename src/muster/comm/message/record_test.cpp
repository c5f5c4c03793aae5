#include "muster/comm/message/record.h"

#include <string>

#include <gtest/gtest.h>

#include "muster/base/random.h"
#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

const InstanceId kSender(7);
const InstanceId kOther(8);

Message sample(Body body) {
  Message message;
  message.tag = "rollout";
  message.body = std::move(body);
  message.session_id = {kSender, 3};
  message.message_id = {kSender, 9};
  return message;
}

std::vector<std::byte> encoded(const Message& message) {
  std::vector<std::byte> bytes(record_bytes(message, kSender));
  encode_record(message, kSender, bytes.data());
  return bytes;
}

Message round_trip(const Message& message) {
  Record record;
  const auto bytes = encoded(message);
  const auto ok = RecordDecoder(kSender).decode(bytes, record);
  EXPECT_TRUE(ok.has_value()) << ok.error().message();
  std::vector<Buffer> more;
  for (std::size_t i = 1; i < message.body.buffer_count(); ++i)
    more.push_back(message.body.buffer(i));
  record.complete(Buffer(message.body.buffer()), std::move(more));
  return std::move(record.message);
}

void expect_same(const Message& a, const Message& b) {
  EXPECT_EQ(a.tag, b.tag);
  EXPECT_EQ(a.tag_origin, b.tag_origin);
  EXPECT_EQ(a.session_id, b.session_id);
  EXPECT_EQ(a.message_id, b.message_id);
  EXPECT_EQ(a.session_type, b.session_type);
  EXPECT_EQ(a.session_stage, b.session_stage);
  EXPECT_EQ(a.body, b.body);
}

TEST(Record, BringsEveryKindOfBodyAcross) {
  const std::vector<double> numbers{1.5, 2.5, 3.5};
  for (const Body& body : {Body(), Body::bytes(as_bytes("raw")), Body::text("text"),
                           Body::json("{}"), Body::array<double>(numbers),
                           Body::python(Buffer::copy_of(as_bytes("pickle")),
                                        {Buffer::copy_of(as_bytes("a")), Buffer()})}) {
    const Message message = sample(body);
    expect_same(round_trip(message), message);
  }
}

TEST(Record, SpellsOutIdsOfOthers) {
  Message message = sample(Body::text("x"));
  message.session_id.origin = kOther;
  message.session_type = SessionType::notification;
  message.session_stage = SessionStage::receive;
  message.tag_origin = "module:Tag.rollout";
  EXPECT_EQ(record_bytes(message, kSender),
            record_bytes(sample(Body::text("x")), kSender) + 8 + message.tag_origin.size());
  expect_same(round_trip(message), message);
}

TEST(Record, RefusesEveryTruncation) {
  const auto bytes = encoded(sample(Body::array<double>(std::vector<double>{1, 2})));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Record record;
    const auto result = RecordDecoder(kSender).decode(ByteSpan(bytes).first(size), record);
    ASSERT_FALSE(result.has_value()) << size;
    EXPECT_TRUE(result.error().is(Errc::malformed));
  }
}

TEST(Record, SurvivesEveryFlippedByte) {
  const auto original = encoded(
      sample(Body::python(Buffer::copy_of(as_bytes("p")), {Buffer::copy_of(as_bytes("abc"))})));
  for (std::size_t at = 0; at < original.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      auto bytes = original;
      bytes[at] ^= std::byte{1} << bit;
      Record record;
      if (RecordDecoder(kSender).decode(bytes, record).has_value()) {
        EXPECT_LE(record.total_bytes(), kMaxBodyBytes);
      }
    }
  }
}

TEST(Record, RefusesAShapeThatDoesNotFitTheBytes) {
  auto bytes = encoded(sample(Body::array<double>(std::vector<double>{1, 2})));
  bytes[40] = std::byte{3};  // the only extent
  Record record;
  const auto result = RecordDecoder(kSender).decode(bytes, record);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message().find("shape"), std::string::npos);
}

TEST(Record, IsRefusedWhenItsTagIsTooLong) {
  Message message = sample({});
  message.tag = std::string(kMaxTagBytes + 1, 't');
  const auto result = check_encodable(message);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message(), "the tag has 1025 bytes; at most 1024 can be sent");
}

TEST(SessionId, ReadsWhatItWrote) {
  const SessionId id{kOther, 42};
  EXPECT_EQ(id.str(), "0000000000000008-2a");
  EXPECT_EQ(SessionId::parse(id.str()), id);
  for (const char* bad : {"", "8-2a", "0000000000000008", "0000000000000008-",
                          "0000000000000008-2g", "000000000000000x-2a"}) {
    EXPECT_EQ(SessionId::parse(bad), std::nullopt) << bad;
  }
}

TEST(DType, TakesNumPysNamesAndRefusesOthers) {
  EXPECT_EQ(DType::parse("<M8[ns]")->item_size(), 8u);
  EXPECT_EQ(DType::parse("<U3")->item_size(), 12u);
  for (const char* bad : {"", "f8", "<O8", "<f", "<f8x", "<f8[ns]", "<f99999999"})
    EXPECT_FALSE(DType::parse(bad).has_value()) << bad;
}

TEST(Body, RefusesAShapeThatDoesNotFit) {
  EXPECT_THROW(
      static_cast<void>(Body::array(DType::of<double>(), {2}, Buffer::copy_of(as_bytes("short")))),
      std::invalid_argument);
  EXPECT_THROW(static_cast<void>(Body::text("x").elements<double>()), std::invalid_argument);
}

}  // namespace
}  // namespace muster::comm
