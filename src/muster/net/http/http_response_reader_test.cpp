#include "muster/net/http/http_response_reader.h"

#include <gtest/gtest.h>

#include "muster/net/errc.h"

namespace muster::net {
namespace {

struct ResponseRead {
  HttpResponseReader reader;
  std::string body;
  Result<void> result;
};

// In pieces of each size: where the cuts are must not matter.
ResponseRead read_response(std::string_view text, std::size_t piece) {
  ResponseRead read;
  for (std::size_t at = 0; at < text.size() && read.result; at += piece)
    read.result = read.reader.take(text.substr(at, piece), read.body);
  return read;
}

TEST(HttpResponseReader, ReadsABodyWithALength) {
  const std::string text =
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Name:  some value \r\n\r\nhello";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const ResponseRead got = read_response(text, piece);
    ASSERT_TRUE(got.result);
    EXPECT_TRUE(got.reader.complete());
    EXPECT_EQ(got.reader.status(), 200);
    EXPECT_EQ(got.reader.header("x-name"), "some value");
    EXPECT_EQ(got.body, "hello");
  }
}

TEST(HttpResponseReader, ReadsChunks) {
  const std::string text =
      "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;name=x\r\nhello\r\nA\r\n0123456789\r\n0\r\nTrailer: y\r\n\r\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const ResponseRead got = read_response(text, piece);
    ASSERT_TRUE(got.result);
    EXPECT_TRUE(got.reader.complete());
    EXPECT_EQ(got.body, "hello0123456789");
  }
}

TEST(HttpResponseReader, ReadsUntilTheEndWithoutALength) {
  ResponseRead got = read_response("HTTP/1.0 200 OK\r\n\r\nall of it", 3);
  EXPECT_FALSE(got.reader.complete());
  EXPECT_TRUE(got.reader.finish());
  EXPECT_TRUE(got.reader.complete());
  EXPECT_EQ(got.body, "all of it");
}

TEST(HttpResponseReader, KnowsResponsesWithoutABody) {
  EXPECT_TRUE(read_response("HTTP/1.1 204 No Content\r\n\r\n", 100).reader.complete());
  EXPECT_TRUE(read_response("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 100).reader.complete());
}

TEST(HttpResponseReader, RefusesWhatIsNoResponse) {
  for (const std::string text :
       {"SSH-2.0-x\r\n\r\n", "HTTP/1.1 xx OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"}) {
    const ResponseRead got = read_response(text, text.size());
    ASSERT_FALSE(got.result) << text;
    EXPECT_TRUE(got.result.error().is(Errc::protocol));
  }
  EXPECT_FALSE(read_response(std::string(100'000, 'x'), 4096).result);
}

TEST(HttpResponseReader, NoticesAnEndThatComesTooEarly) {
  ResponseRead got = read_response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", 100);
  EXPECT_FALSE(got.reader.finish());
}

}  // namespace
}  // namespace muster::net
