#include "muster/net/http/web_socket_handshake.h"

#include <gtest/gtest.h>

#include "muster/net/errc.h"

namespace muster::net {
namespace {

HttpRequest asking(const HeaderList& more = {}) {
  HttpRequest request;
  request.method = "GET";
  request.headers = ask_handshake();
  request.headers.emplace_back("Host", "here:8080");
  request.headers.insert(request.headers.end(), more.begin(), more.end());
  return request;
}

TEST(WebSocketHandshake, AnswersAsTheStandardShowsIt) {
  EXPECT_EQ(accept_for_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketHandshake, BothEndsAgree) {
  const HttpRequest request = asking();
  const auto answer = answer_handshake(request, {});
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(check_handshake(request.headers, {101, *answer, {}}));
  EXPECT_TRUE(check_handshake(ask_handshake(), {101, *answer, {}}).error().is(Errc::protocol));
  EXPECT_TRUE(check_handshake(request.headers, {401, {}, {}}).error().is(Errc::auth));
  EXPECT_TRUE(check_handshake(request.headers, {500, {}, {}}).error().is(Errc::server_error));
}

TEST(WebSocketHandshake, RefusesWhatIsNoneOrAnotherVersion) {
  HttpRequest plain;
  plain.method = "GET";
  EXPECT_EQ(answer_handshake(plain, {}).error().status, 400);
  HttpRequest posted = asking();
  posted.method = "POST";
  EXPECT_EQ(answer_handshake(posted, {}).error().status, 400);
  HttpRequest old = asking();
  old.headers[2].second = "8";
  EXPECT_EQ(answer_handshake(old, {}).error().status, 426);
  HttpRequest keyless = asking();
  keyless.headers[3].second = "short";
  EXPECT_EQ(answer_handshake(keyless, {}).error().status, 400);
}

TEST(WebSocketHandshake, PagesOfOtherHostsAreRefused) {
  EXPECT_TRUE(answer_handshake(asking({{"Origin", "http://here:8080"}}), {}));
  EXPECT_TRUE(answer_handshake(asking({{"Origin", "https://HERE:8080"}}), {}));
  EXPECT_EQ(answer_handshake(asking({{"Origin", "http://evil:8080"}}), {}).error().status, 403);
  EXPECT_EQ(answer_handshake(asking({{"Origin", "null"}}), {}).error().status, 403);
  WebSocketOptions options;
  options.allow_origin = [](std::string_view origin) { return origin == "http://friend"; };
  EXPECT_TRUE(answer_handshake(asking({{"Origin", "http://friend"}}), options));
  EXPECT_FALSE(answer_handshake(asking({{"Origin", "http://here:8080"}}), options));
}

}  // namespace
}  // namespace muster::net
