#include "muster/net/http/head.h"

#include <gtest/gtest.h>

#include "muster/net/errc.h"
#include "tests/support/memory_stream.h"

namespace muster::net {
namespace {

using Framing = BodyPlan::Framing;

tl::expected<std::string, HeadFailure> read_head(std::string_view text, std::size_t piece = 1,
                                                 std::size_t most = 1000) {
  test::MemoryStream stream(text, piece);
  StreamReader reader(stream);
  const auto head = read_head(reader, most, TimePoint::max());
  if (!head) return tl::unexpected(head.error());
  return std::string(*head);
}

int refused(const std::string& text) {
  const auto request = parse_request(text, 10);
  return request ? 0 : request.error().status;
}

TEST(Head, EndsWithAnEmptyLine) {
  for (const std::size_t piece : {1u, 3u, 100u}) {
    EXPECT_EQ(read_head("GET / HTTP/1.1\r\nA: b\r\n\r\nbody", piece),
              "GET / HTTP/1.1\r\nA: b\r\n\r\n");
    EXPECT_EQ(read_head("\r\n\r\nGET / HTTP/1.1\r\n\r\n", piece), "GET / HTTP/1.1\r\n\r\n")
        << "empty lines before it are skipped";
  }
}

TEST(Head, IsRefusedWhenItsLinesAreWrong) {
  for (const std::size_t piece : {1u, 100u}) {
    EXPECT_EQ(read_head("GET / HTTP/1.1\n\n", piece).error(), HeadFailure::malformed);
    EXPECT_EQ(read_head("GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", piece).error(),
              HeadFailure::malformed);
    EXPECT_EQ(read_head("\x16\x03\x01", piece).error(), HeadFailure::malformed) << "TLS";
    EXPECT_EQ(read_head("\r\n\r\n\r\n\r\n\r\n\r\n", piece).error(), HeadFailure::malformed);
  }
}

TEST(Head, MayEndTooEarlyOrBeTooLarge) {
  EXPECT_EQ(read_head("").error(), HeadFailure::ended);
  EXPECT_EQ(read_head("GET").error(), HeadFailure::cut);
  EXPECT_EQ(read_head("GET /" + std::string(2000, 'a')).error(), HeadFailure::too_large);
  EXPECT_EQ(read_head("GET / HTTP/1.1\r\nA: b\r\n\r\n", 100, 10).error(), HeadFailure::too_large);
}

TEST(Head, TellsWhatIsAsked) {
  const auto head = parse_request(
      "PUT /a%20b?x=1 HTTP/1.1\r\nHost: here\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n",
      10);
  ASSERT_TRUE(head.has_value()) << head.error().text;
  EXPECT_EQ(head->request.method, "PUT");
  EXPECT_EQ(head->request.path, "/a b");
  EXPECT_EQ(*head->request.parameter("x"), "1");
  EXPECT_EQ(*head->request.header("host"), "here");
  EXPECT_EQ(head->body.framing, Framing::length);
  EXPECT_EQ(head->body.length, 12u);
  EXPECT_TRUE(head->keep_alive);
  EXPECT_TRUE(head->expects_continue);
}

TEST(Head, TellsWhetherTheConnectionStays) {
  const auto keeps = [](const std::string& first_and_headers) {
    return parse_request(first_and_headers + "Host: a\r\n\r\n", 10)->keep_alive;
  };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nConnection: close\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n"));
}

TEST(Head, WithTwoMeaningsIsRefused) {
  const std::string first = "POST / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(refused(first + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(refused(first + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"), 400);
  EXPECT_EQ(refused(first + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"), 400);
  EXPECT_EQ(refused(first + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"), 400);
  EXPECT_EQ(refused(first + "Content-Length: 1, 1\r\n\r\n"), 400);
  EXPECT_EQ(refused(first + "Content-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(refused(first + "Content-Length: +1\r\n\r\n"), 400);
  EXPECT_EQ(refused(first + "Content-Length: \r\n\r\n"), 400);
  EXPECT_EQ(refused(first + "Content-Length: 0x1\r\n\r\n"), 400);
  EXPECT_EQ(refused(first + "Content-Length: 99999999999999999999\r\n\r\n"), 400);
  EXPECT_EQ(refused(first + "Content-Length : 1\r\n\r\n"), 400);
  EXPECT_EQ(refused(first + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n"), 400);
  EXPECT_EQ(refused(first + "Transfer-Encoding: x, chunked\r\n\r\n"), 501);
  EXPECT_EQ(refused(first + "Transfer-Encoding: identity\r\n\r\n"), 501);
  EXPECT_EQ(refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(refused("GET / HTTP/1.1\r\n\r\n"), 400) << "no Host";
  EXPECT_EQ(refused("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
}

TEST(Head, ThatIsNoneIsRefused) {
  using namespace std::string_literals;
  EXPECT_EQ(refused("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(refused("GET / HTTP/0.9\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(refused("PRI * HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(refused("GET /\r\n\r\n"), 400);
  EXPECT_EQ(refused("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refused("G@T / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refused("GET /../x HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refused("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"s), 400);
  EXPECT_EQ(refused("GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n"), 400);
  EXPECT_EQ(refused("GET / HTTP/1.1\r\nHost: a\r\n: empty\r\n\r\n"), 400);
  EXPECT_EQ(refused(""), 400);
  EXPECT_EQ(refused("\r\n\r\n"), 400);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 10; ++i) many += "X: y\r\n";
  EXPECT_EQ(refused(many + "\r\n"), 431);
}

TEST(Head, OfAnAnswerTellsHowItsBodyEnds) {
  const auto framing = [](const std::string& text, bool to_head = false) {
    return parse_reply(text, to_head)->body.framing;
  };
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), Framing::length);
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true), Framing::none);
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), Framing::chunked);
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\n\r\n"), Framing::until_end);
  EXPECT_EQ(framing("HTTP/1.1 204 No Content\r\n\r\n"), Framing::none);
  EXPECT_EQ(framing("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\n\r\n"), Framing::none);
  EXPECT_TRUE(parse_reply("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", false)->keep_alive);
  EXPECT_FALSE(parse_reply("HTTP/1.1 200 OK\r\n\r\n", false)->keep_alive);
}

TEST(Head, OfAnAnswerThatIsNoneIsRefused) {
  for (const char* text :
       {"", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"}) {
    const auto reply = parse_reply(text, false);
    ASSERT_FALSE(reply.has_value()) << text;
    EXPECT_TRUE(reply.error().is(Errc::protocol));
  }
}

}  // namespace
}  // namespace muster::net
