#include "muster/cluster/launch/process/output_log.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace muster::cluster {
namespace {

class OutputLogTest : public testing::Test {
 protected:
  std::string file(const std::string& name) const {
    std::ifstream stream(folder_.path() / name);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  bool there(const std::string& name) const {
    return std::filesystem::exists(folder_.path() / name);
  }

  test::TempDir folder_;
};

TEST_F(OutputLogTest, HoldsWhatWasWritten) {
  OutputLog log(folder_.path(), 100, 1);
  log.write("one\n");
  log.write("two\n");
  EXPECT_EQ(file("log"), "one\ntwo\n");
}

TEST_F(OutputLogTest, BeginsANewFileAtTheEndOfALine) {
  OutputLog log(folder_.path(), 10, 2);
  log.write("first\nsecond\nthird\n");
  EXPECT_EQ(file("log.2"), "first\n");
  EXPECT_EQ(file("log.1"), "second\n");
  EXPECT_EQ(file("log"), "third\n");
}

TEST_F(OutputLogTest, KeepsSoManyOlderFiles) {
  OutputLog log(folder_.path(), 4, 1);
  for (const char* const line : {"a1\n", "b2\n", "c3\n", "d4\n"}) log.write(line);
  EXPECT_EQ(file("log"), "d4\n");
  EXPECT_EQ(file("log.1"), "c3\n");
  EXPECT_FALSE(there("log.2"));
}

TEST_F(OutputLogTest, KeepsNoOlderFileWhenAskedForNone) {
  OutputLog log(folder_.path(), 4, 0);
  log.write("abc\n");
  log.write("def\n");
  EXPECT_EQ(file("log"), "def\n");
  EXPECT_FALSE(there("log.1"));
}

TEST_F(OutputLogTest, CutsALineThatIsLongerThanAFile) {
  OutputLog log(folder_.path(), 4, 9);
  log.write("abcdefghij\n");
  EXPECT_EQ(file("log.2") + file("log.1") + file("log"), "abcdefghij\n");
}

TEST_F(OutputLogTest, GoesOnWhereAnEarlierOneEnded) {
  OutputLog(folder_.path(), 100, 1).write("one\n");
  OutputLog(folder_.path(), 100, 1).write("two\n");
  EXPECT_EQ(file("log"), "one\ntwo\n");
}

TEST_F(OutputLogTest, SaysHowMuchWasLostWhenItCanWriteAgain) {
  std::filesystem::create_directory(folder_.path() / "later");
  std::filesystem::remove(folder_.path() / "later");
  OutputLog log((folder_.path() / "later").string(), 100, 1);
  log.write("lost\n");
  std::filesystem::create_directory(folder_.path() / "later");
  log.write("lost too\n");
  log.write("kept\n");
  EXPECT_EQ(file("later/log"), "[muster: 14 bytes of output could not be written]\nkept\n");
}

}  // namespace
}  // namespace muster::cluster
