#include "muster/net/http/target.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::net {
namespace {

TEST(Target, IsTakenApartAndDecoded) {
  HttpRequest request;
  ASSERT_TRUE(read_target("/a%20b/c+d?x=1&y=%2f+z&x=2&flag&&=v", request));
  EXPECT_EQ(request.path, "/a b/c+d");
  EXPECT_EQ(request.query_text, "x=1&y=%2f+z&x=2&flag&&=v");
  EXPECT_EQ(request.query.count("x"), 2u);
  EXPECT_EQ(*request.parameter("x"), "1");
  EXPECT_EQ(*request.parameter("y"), "/ z");
  EXPECT_EQ(*request.parameter("flag"), "");
  EXPECT_EQ(*request.parameter(""), "v");
  EXPECT_EQ(request.parameter("z"), nullptr);
}

TEST(Target, MayBeAWholeUrl) {
  HttpRequest request;
  ASSERT_TRUE(read_target("http://host:80/a?b=c", request));
  EXPECT_EQ(request.path, "/a");
  HttpRequest bare;
  ASSERT_TRUE(read_target("https://host?b", bare));
  EXPECT_EQ(bare.path, "/");
  EXPECT_NE(bare.parameter("b"), nullptr);
}

TEST(Target, IsRefusedWhenItClimbsOrIsMalformed) {
  using namespace std::string_view_literals;
  for (const auto target : {""sv, "a"sv, "*"sv, "/.."sv, "/a/../b"sv, "/a/%2e%2e"sv, "/%2e./b"sv,
                            "/a%2f..%2fb"sv, "/%"sv, "/%4"sv, "/%zz"sv, "/%00"sv, "/a\0b"sv,
                            "/a?x=%"sv, "/a?x=%00"sv, "/a#b"sv, "host:80"sv, "ftp://host/a"sv}) {
    HttpRequest request;
    EXPECT_FALSE(read_target(target, request)) << target;
  }
}

TEST(Target, MayHoldDotsThatDoNotClimb) {
  for (const auto* target : {"/a..b", "/...", "/.hidden", "/a./b", "/?a=.."}) {
    HttpRequest request;
    EXPECT_TRUE(read_target(target, request)) << target;
  }
}

RC_GTEST_PROP(Target, IsDecodedToWhatWasEncoded, (const std::string& text)) {
  RC_PRE(text.find('\0') == std::string::npos);
  RC_ASSERT(percent_decoded(percent_encoded(text)) == text);
  RC_ASSERT(percent_decoded(percent_encoded(text), true) == text);
}

}  // namespace
}  // namespace muster::net
