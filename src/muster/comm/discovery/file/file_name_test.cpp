#include "muster/comm/discovery/file/file_name.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster::comm::file {
namespace {

TEST(FileName, KeepsPlainNamesReadable) { EXPECT_EQ(encode("actor_1-b"), "actor_1-b"); }

TEST(FileName, HidesWhatAFileSystemWouldRead) {
  EXPECT_EQ(encode(".."), "%2E%2E");
  EXPECT_EQ(encode("a/b c\n"), "a%2Fb%20c%0A");
  EXPECT_EQ(encode("é"), "%C3%A9");
  EXPECT_EQ(encode("%41"), "%2541");
  EXPECT_EQ(encode(std::string_view("\0", 1)), "%00");
  EXPECT_EQ(encode(""), "%");
}

TEST(FileName, FitsAndTellsLongNamesApart) {
  const std::string a(1024, '/');
  const std::string b = std::string(1023, '/') + "x";
  EXPECT_NE(encode(a), encode(b));
  EXPECT_LE(fresh_file(a, InstanceId(1)).size() + 1, 255u);
  EXPECT_LE(fresh_file(std::string(200, 'x'), InstanceId(1)).size() + 1, 255u);
}

TEST(FileName, ANameThatBeginsAnotherSharesNoPrefix) {
  EXPECT_FALSE(fresh_file("actor_10", InstanceId(1)).starts_with(peer_prefix("actor_1")));
  EXPECT_TRUE(fresh_file("actor_1", InstanceId(1)).starts_with(peer_prefix("actor_1")));
}

TEST(FileName, KnowsItsOwn) {
  EXPECT_TRUE(is_entry_file(fresh_file("a", InstanceId(1))));
  EXPECT_TRUE(is_entry_file(fmt::format(".{}", fresh_file("", InstanceId(~0ull)))));
  for (const char* other : {"", ".", "..", "notes.txt", "0000000000000001.0000000000000002",
                            "a.0000000000000001.000000000000000G"}) {
    EXPECT_FALSE(is_entry_file(other)) << other;
  }
}

TEST(FileName, IsNeverUsedTwice) {
  EXPECT_NE(fresh_file("a", InstanceId(1)), fresh_file("a", InstanceId(1)));
}

}  // namespace
}  // namespace muster::comm::file
