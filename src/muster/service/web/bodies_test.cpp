#include "muster/service/web/bodies.h"

#include <gtest/gtest.h>

#include "muster/service/errc.h"

namespace muster::service {
namespace {

std::string why(const Error& error) { return error.message(); }

TEST(Bodies, OpenWithNothingTakesTheDefaults) {
  const auto body = read_open("");
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(body->timeout, 120);
}

TEST(Bodies, OpenReadsWhatWasSaid) {
  const auto body = read_open(R"({"name": "me", "nonce": "n1", "timeout": 5})");
  ASSERT_TRUE(body.has_value()) << why(body.error());
  EXPECT_EQ(body->name, "me");
  EXPECT_EQ(body->nonce, "n1");
  EXPECT_EQ(body->timeout, 5);
}

TEST(Bodies, OpenRefusesWhatIsWrong) {
  for (const char* text : {"[]", "{", R"({"name": 3})", R"({"timeout": -1})", R"({"timeout": "x"})",
                           R"({"timeout": 1e300})", R"({"other": 1})", "\xff\xfe", "null"}) {
    const auto body = read_open(text);
    ASSERT_FALSE(body.has_value()) << text;
    EXPECT_TRUE(body.error().is(Errc::malformed));
    EXPECT_FALSE(why(body.error()).empty());
  }
}

TEST(Bodies, SubmitIsALineAndAGraph) {
  const std::string text = "{\"execution\":\"e1\",\"keys\":[\"a\",\"b\"]}\nMGRF\n\0x";
  const auto body = read_submit(as_bytes(text));
  ASSERT_TRUE(body.has_value()) << why(body.error());
  EXPECT_EQ(body->execution, "e1");
  EXPECT_EQ(body->keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(as_text(body->graph).substr(0, 4), "MGRF");
  EXPECT_TRUE(body->options.is_object());
}

TEST(Bodies, SubmitRefusesWhatIsWrong) {
  for (const char* text :
       {"", "MGRF", "{}\nMGRF", "{\"execution\":\"e\"}\nM", "{\"execution\":\"e\",\"keys\":[]}\nM",
        "{\"execution\":\"e\",\"keys\":[1]}\nM", "{\"execution\":\"../x\",\"keys\":[\"a\"]}\nM",
        "{\"execution\":\"e\",\"keys\":[\"a b\"]}\nM", "{\"execution\":\"e\",\"keys\":[\"a\"]}\n",
        "{\"execution\":\"e\",\"keys\":[\"a\"],\"options\":3}\nM",
        "{\"execution\":\"e\",\"keys\":[\"a\"],\"more\":3}\nM"}) {
    const auto body = read_submit(as_bytes(text));
    ASSERT_FALSE(body.has_value()) << text;
    EXPECT_TRUE(body.error().is(Errc::malformed));
  }
}

TEST(Bodies, UploadReadsSplits) {
  const auto body = read_upload(R"({"dtype": "float64", "splits": [[2, 3], [4]]})");
  ASSERT_TRUE(body.has_value()) << why(body.error());
  EXPECT_EQ(body->dtype, "float64");
  EXPECT_EQ(body->splits, (std::vector<std::vector<std::int64_t>>{{2, 3}, {4}}));
  EXPECT_TRUE(read_upload(R"({"dtype": "bool", "splits": []})").has_value()) << "a single number";
}

TEST(Bodies, UploadRefusesWhatIsWrong) {
  for (const char* text :
       {"{}", R"({"dtype": "f8"})", R"({"dtype": "f8", "splits": [1]})",
        R"({"dtype": "f8", "splits": [[]]})", R"({"dtype": "f8", "splits": [[-1]]})",
        R"({"dtype": "f8", "splits": [[1.5]]})", R"({"dtype": "f8", "splits": [["1"]]})",
        R"({"dtype": "f8", "splits": [[9223372036854775807, 1]]})",
        R"({"dtype": "f8", "splits": [[9223372036854775808]]})"}) {
    EXPECT_FALSE(read_upload(text).has_value()) << text;
  }
  std::string many = R"({"dtype": "f8", "splits": [)";
  for (int axis = 0; axis < 33; ++axis) many += axis == 0 ? "[1]" : ",[1]";
  EXPECT_FALSE(read_upload(many + "]}").has_value());
}

TEST(Bodies, MemoryIsAHostAndFourNumbers) {
  const auto body = read_memory_place(
      R"({"host":"h","pid":1,"proof":18446744073709551615,"proof_at":3,"address":4})");
  ASSERT_TRUE(body.has_value()) << why(body.error());
  EXPECT_EQ(body->host, "h");
  EXPECT_EQ(body->pid, 1u);
  EXPECT_EQ(body->proof, ~std::uint64_t{0});
  EXPECT_EQ(body->address, 4u);
  for (const char* text : {"{}", R"({"host":1,"pid":1,"proof":2,"proof_at":3,"address":4})",
                           R"({"host":"h","pid":-1,"proof":2,"proof_at":3,"address":4})",
                           R"({"host":"h","pid":1.5,"proof":2,"proof_at":3,"address":4})",
                           R"({"host":"h","pid":1,"proof":2,"proof_at":3})",
                           R"({"host":"h","pid":1,"proof":2,"proof_at":3,"address":4,"more":5})"})
    EXPECT_FALSE(read_memory_place(text).has_value()) << text;
}

TEST(Bodies, NestedTooDeepIsRefusedWithoutBeingBuilt) {
  const std::string deep =
      "{\"name\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  const auto body = read_open(deep);
  ASSERT_FALSE(body.has_value());
  EXPECT_LT(why(body.error()).size(), 300u);
}

TEST(Bodies, ProgressWaitsAtMostHalfAMinute) {
  EXPECT_EQ(read_progress({{"wait", "1000"}})->wait, kLongestWait);
  EXPECT_EQ(read_progress({{"wait", "0.5"}, {"seen", "7"}})->seen, 7u);
  EXPECT_EQ(read_progress({})->wait, 0);
  for (const char* text : {"x", "-1", "nan", "inf", "1s", ""})
    EXPECT_FALSE(read_progress({{"wait", text}}).has_value()) << text;
  EXPECT_FALSE(read_progress({{"seen", "-1"}}).has_value());
  EXPECT_FALSE(read_progress({{"seen", "1"}, {"seen", "2"}}).has_value());
}

TEST(Bodies, NamesAreSeparatedByCommas) {
  EXPECT_EQ(*read_names("key", "a,b-1"), (std::vector<std::string>{"a", "b-1"}));
  EXPECT_FALSE(read_names("key", "").has_value());
  EXPECT_FALSE(read_names("key", "a,,b").has_value());
  EXPECT_FALSE(read_names("key", "a/b").has_value());
}

TEST(Bodies, NumbersAreWhole) {
  EXPECT_EQ(*read_number("chunk", "12", 100), 12u);
  for (const char* text : {"", "-1", "1.0", "101", "0x1", " 1", "99999999999999999999"})
    EXPECT_FALSE(read_number("chunk", text, 100).has_value()) << text;
}

}  // namespace
}  // namespace muster::service
