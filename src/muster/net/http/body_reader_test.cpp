#include "muster/net/http/body_reader.h"

#include <vector>

#include <gtest/gtest.h>

#include "muster/net/errc.h"
#include "tests/support/memory_stream.h"

namespace muster::net {
namespace {

using Framing = BodyPlan::Framing;

struct BodyRead {
  std::string body;
  std::string behind;
  std::optional<Error> error;
};

BodyRead read_body(std::string_view text, const BodyPlan& plan, std::size_t piece) {
  test::MemoryStream stream(text, piece);
  StreamReader reader(stream);
  BodyReader body(reader, plan);
  BodyRead result;
  std::array<std::byte, 3> part;
  for (;;) {
    const auto got = body.read(part, {});
    if (!got) {
      result.error = got.error();
      EXPECT_EQ(body.read(part, {}).value_or(1), 0u) << "there is no more after a failure";
      return result;
    }
    if (*got == 0) break;
    result.body += as_text(ByteSpan(part).first(*got));
  }
  EXPECT_TRUE(body.at_end());
  while (reader.fill(TimePoint::max()).value_or(false)) {
  }
  result.behind = reader.buffered();
  return result;
}

class BodyReaderInPieces : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Pieces, BodyReaderInPieces, ::testing::Values(1, 2, 7, 1000));

TEST_P(BodyReaderInPieces, EndsWithItsLengthAndReadsNothingBehind) {
  const BodyRead result = read_body("0123456789GET", {Framing::length, 10}, GetParam());
  EXPECT_EQ(result.body, "0123456789");
  EXPECT_EQ(result.behind, "GET");
}

TEST_P(BodyReaderInPieces, EndsWithTheLastChunk) {
  const BodyRead result =
      read_body("3\r\nabc\r\n0A;name=value\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nGET",
                {Framing::chunked, 0}, GetParam());
  EXPECT_FALSE(result.error) << result.error->message();
  EXPECT_EQ(result.body, "abc0123456789");
  EXPECT_EQ(result.behind, "GET");
}

TEST_P(BodyReaderInPieces, EndsWithTheConnection) {
  EXPECT_EQ(read_body("all of it", {Framing::until_end, 0}, GetParam()).body, "all of it");
}

TEST_P(BodyReaderInPieces, IsCutWhenTheConnectionEndsTooEarly) {
  for (const char* text : {"3\r\nabc\r\n", "3\r\nab", "3", "3\r\nabc\r\n0\r\n", ""}) {
    const BodyRead result = read_body(text, {Framing::chunked, 0}, GetParam());
    ASSERT_TRUE(result.error.has_value()) << text;
    EXPECT_TRUE(result.error->is(Errc::unreachable)) << text;
  }
  EXPECT_TRUE(read_body("abc", {Framing::length, 4}, GetParam()).error->is(Errc::unreachable));
}

TEST_P(BodyReaderInPieces, RefusesChunksThatAreNone) {
  for (const char* text :
       {"x\r\n", "-1\r\n", "+1\r\na\r\n", "0x1\r\na\r\n", "\r\n", " 1\r\na\r\n", "1\na\n0\n\n",
        "1\r\nab\r\n0\r\n\r\n", "ffffffffffffffffff\r\n", "8000000000000000\r\n", "1;a\rb\r\n"}) {
    const BodyRead result = read_body(text, {Framing::chunked, 0}, GetParam());
    ASSERT_TRUE(result.error.has_value()) << text;
    EXPECT_TRUE(result.error->is(Errc::protocol)) << text << ": " << result.error->message();
  }
}

TEST(BodyReader, RefusesEndlessLinesAndTrailers) {
  const std::string line(10000, 'a');
  EXPECT_TRUE(read_body("1;" + line, {Framing::chunked, 0}, 1000).error->is(Errc::protocol));
  std::string trailer = "0\r\n";
  for (int i = 0; i < 5000; ++i) trailer += "Name: value\r\n";
  EXPECT_TRUE(read_body(trailer, {Framing::chunked, 0}, 1000).error->is(Errc::protocol));
}

TEST(BodyReader, IsAtItsEndWithoutABody) {
  test::MemoryStream stream("next");
  StreamReader reader(stream);
  EXPECT_TRUE(BodyReader(reader, {}).at_end());
  EXPECT_TRUE(BodyReader(reader, {Framing::length, 0}).at_end());
  EXPECT_EQ(BodyReader(reader, {}).length(), 0u);
  EXPECT_EQ(BodyReader(reader, {Framing::chunked, 0}).length(), std::nullopt);
}

}  // namespace
}  // namespace muster::net
