#include "muster/net/http/http_message.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "muster/net/http/message_text.h"

namespace muster::net {
namespace {

TEST(HttpMessage, FindsHeadersWithoutRegardToCase) {
  const HeaderList headers{{"Content-Type", "a"}, {"X", "first"}, {"x", "second"}};
  EXPECT_EQ(*find_header(headers, "content-TYPE"), "a");
  EXPECT_EQ(*find_header(headers, "x"), "first");
  EXPECT_EQ(find_header(headers, "Content"), nullptr);
}

TEST(HttpMessage, FindsAWordInALineOfThem) {
  const HeaderList headers{{"Connection", "keep-alive , Upgrade"}};
  EXPECT_TRUE(header_has_word(headers, "connection", "upgrade"));
  EXPECT_TRUE(header_has_word(headers, "connection", "keep-alive"));
  EXPECT_FALSE(header_has_word(headers, "connection", "up"));
  EXPECT_FALSE(header_has_word({{"Connection", ",,"}}, "connection", "close"));
}

TEST(HttpMessage, RefusesHeadersThatWouldBreakTheMessage) {
  std::string text;
  EXPECT_THROW(append_header(text, "X", "a\r\nY: b"), std::invalid_argument);
  EXPECT_THROW(append_header(text, "X", std::string_view("a\0b", 3)), std::invalid_argument);
  EXPECT_THROW(append_header(text, "X Y", "a"), std::invalid_argument);
  EXPECT_THROW(append_header(text, "", "a"), std::invalid_argument);
  append_header(text, "X", "a b");
  EXPECT_EQ(text, "X: a b\r\n");
}

TEST(HttpMessage, WritesDatesAsHttpDoes) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace muster::net
