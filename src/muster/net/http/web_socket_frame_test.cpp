#include "muster/net/http/web_socket_frame.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "muster/base/utf8.h"
#include "muster/net/errc.h"

namespace muster::net {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<unsigned> values) {
  Bytes result;
  for (const unsigned value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

TEST(WebSocketFrame, IsReadAsTheStandardShowsIt) {
  const auto plain = parse_frame(bytes_of({0x81, 0x05, 'H'}), WebSocketRole::client);
  ASSERT_TRUE(plain && *plain);
  EXPECT_TRUE((*plain)->last);
  EXPECT_EQ((*plain)->opcode, Opcode::text);
  EXPECT_EQ((*plain)->length, 5u);
  EXPECT_EQ((*plain)->size, 2u);

  Bytes masked = bytes_of({0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58});
  const auto header = parse_frame(masked, WebSocketRole::server);
  ASSERT_TRUE(header && *header && (*header)->mask);
  apply_mask(std::span(masked).subspan(6), *(*header)->mask, 0);
  EXPECT_EQ(as_text(ByteSpan(masked).subspan(6)), "Hello");
}

TEST(WebSocketFrame, ThatMayNotComeIsRefused) {
  const auto refused = [](std::initializer_list<unsigned> values, WebSocketRole role) {
    const auto result = parse_frame(bytes_of(values), role);
    return !result && result.error().is(Errc::protocol);
  };
  EXPECT_TRUE(refused({0x81, 0x01}, WebSocketRole::server)) << "a client must mask";
  EXPECT_TRUE(refused({0x81, 0x81, 1, 2, 3, 4}, WebSocketRole::client)) << "a server must not";
  EXPECT_TRUE(refused({0x83, 0x00}, WebSocketRole::client)) << "unknown kind";
  EXPECT_TRUE(refused({0xC1, 0x00}, WebSocketRole::client)) << "reserved bit";
  EXPECT_TRUE(refused({0x09, 0x00}, WebSocketRole::client)) << "a ping in parts";
  EXPECT_TRUE(refused({0x89, 0x7E, 0x00, 0x80}, WebSocketRole::client)) << "a long ping";
  EXPECT_TRUE(refused({0x82, 0x7E, 0x00, 0x05}, WebSocketRole::client)) << "a length too long";
  EXPECT_TRUE(refused({0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0}, WebSocketRole::client))
      << "a negative length";
}

TEST(WebSocketFrame, IsIncompleteUntilItsHeaderIsThere) {
  const Bytes whole = bytes_of({0x82, 0xFE, 0x01, 0x00, 1, 2, 3, 4});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto part = parse_frame(ByteSpan(whole).first(size), WebSocketRole::server);
    ASSERT_TRUE(part.has_value());
    EXPECT_FALSE(part->has_value()) << size;
  }
  EXPECT_EQ((*parse_frame(whole, WebSocketRole::server))->length, 256u);
}

RC_GTEST_PROP(WebSocketFrame, IsReadAsItWasWritten, (std::uint64_t number, bool masked)) {
  FrameHeader header;
  header.opcode = Opcode::bytes;
  header.length = number >> *rc::gen::inRange(1, 64);
  if (masked) header.mask = Mask{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  const auto bytes = encode_frame(header);
  const auto read =
      parse_frame(bytes.span(), masked ? WebSocketRole::server : WebSocketRole::client);
  RC_ASSERT(read.has_value() && read->has_value());
  RC_ASSERT((*read)->length == header.length);
  RC_ASSERT((*read)->mask == header.mask);
  RC_ASSERT((*read)->size == bytes.size);
}

RC_GTEST_PROP(WebSocketFrame, MaskingInPiecesIsMaskingWhole, (const std::string& text)) {
  const Mask mask{std::byte{0x11}, std::byte{0x22}, std::byte{0x33}, std::byte{0x44}};
  Bytes whole(as_bytes(text).begin(), as_bytes(text).end());
  Bytes pieces = whole;
  apply_mask(whole, mask, 0);
  const auto cut = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
  apply_mask(std::span(pieces).first(cut), mask, 0);
  apply_mask(std::span(pieces).subspan(cut), mask, cut);
  RC_ASSERT(whole == pieces);
  apply_mask(whole, mask, 0);
  RC_ASSERT(as_text(whole) == text);
}

TEST(WebSocketFrame, TextIsUtf8) {
  for (const char* good : {"", "plain", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                           "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad : {"\xFF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\x80",
                          "\xC3", "\xE2\x82", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3("}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

}  // namespace
}  // namespace muster::net
