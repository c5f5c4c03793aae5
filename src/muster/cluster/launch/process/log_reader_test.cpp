#include "muster/cluster/launch/process/log_reader.h"

#include <chrono>
#include <set>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/base/clock.h"
#include "muster/cluster/launch/process/output_log.h"
#include "tests/support/temp_dir.h"

namespace muster::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LogReader : public testing::Test {
 protected:
  std::string folder() const { return folder_.path().string(); }
  test::TempDir folder_;
};

TEST_F(LogReader, GivesTheLastLines) {
  EXPECT_THAT(last_log_lines(folder(), 3), IsEmpty());
  OutputLog log(folder(), 1000, 1);
  log.write("one\ntwo\nthree");
  EXPECT_THAT(last_log_lines(folder(), 2), ElementsAre("two", "three"));
  EXPECT_THAT(last_log_lines(folder(), 9), ElementsAre("one", "two", "three"));
  EXPECT_THAT(last_log_lines(folder(), 0), IsEmpty());
  log.write("\n");
  EXPECT_THAT(last_log_lines(folder(), 1), ElementsAre("three"));
}

TEST_F(LogReader, LooksThroughOlderFiles) {
  OutputLog log(folder(), 8, 3);
  for (const char* const line : {"aaa\n", "bbb\n", "ccc\n", "ddd\n", "eee\n"}) log.write(line);
  EXPECT_THAT(last_log_lines(folder(), 4), ElementsAre("bbb", "ccc", "ddd", "eee"));
}

TEST_F(LogReader, FindsLinesInALargeFile) {
  OutputLog log(folder(), 10'000'000, 1);
  for (int i = 0; i < 50'000; ++i) log.write("line " + std::to_string(i) + "\n");
  const auto lines = last_log_lines(folder(), 20'000);
  ASSERT_EQ(lines.size(), 20'000u);
  EXPECT_EQ(lines.front(), "line 30000");
  EXPECT_EQ(lines.back(), "line 49999");
}

TEST_F(LogReader, FollowsWhatIsAdded) {
  LogFollower follower(folder());
  EXPECT_EQ(follower.take(), "");
  OutputLog log(folder(), 1000, 1);
  log.write("one\n");
  EXPECT_EQ(follower.take(), "one\n");
  EXPECT_EQ(follower.take(), "");
  log.write("two\n");
  EXPECT_EQ(follower.take(), "two\n");
}

TEST_F(LogReader, FollowsThroughRotation) {
  OutputLog log(folder(), 8, 3);
  log.write("aaa\n");
  LogFollower follower(folder());
  EXPECT_EQ(follower.take(), "aaa\n");
  for (const char* const line : {"bbb\n", "ccc\n", "ddd\n", "eee\n"}) log.write(line);
  EXPECT_EQ(follower.take(), "bbb\nccc\nddd\neee\n");
  log.write("fff\n");
  EXPECT_EQ(follower.take(), "fff\n");
}

TEST_F(LogReader, SaysWhereLinesWereThrownAwayBeforeTheyWereRead) {
  OutputLog log(folder(), 8, 1);
  log.write("aaa\n");
  LogFollower follower(folder());
  EXPECT_EQ(follower.take(), "aaa\n");
  for (const char* const line : {"bbb\n", "ccc\n", "ddd\n", "eee\n", "fff\n", "ggg\n"})
    log.write(line);
  EXPECT_EQ(follower.take(),
            "[muster: lines may be missing here: older files of the log are gone]\n"
            "eee\nfff\nggg\n");
}

TEST_F(LogReader, MissesAndRepeatsNothingWhileTheLogIsRotated) {
  OutputLog log(folder(), 2000, 500);
  const std::jthread writer([&] {
    for (int i = 0; i < 20'000; ++i) log.write("line " + std::to_string(i) + "\n");
    log.write("over\n");
  });
  LogFollower follower(folder());
  std::string text;
  const TimePoint deadline = SteadyClock().now() + std::chrono::seconds(30);
  while (!text.ends_with("over\n") && SteadyClock().now() < deadline) {
    text += follower.take();
    const auto lines = last_log_lines(folder(), 300);
    ASSERT_EQ(std::set(lines.begin(), lines.end()).size(), lines.size());
  }
  std::istringstream lines(text);
  std::string line;
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    ASSERT_EQ(line, "line " + std::to_string(i));
  }
}

TEST_F(LogReader, FollowsFromTheLastLines) {
  OutputLog log(folder(), 1000, 1);
  log.write("one\ntwo\nthree\n");
  LogFollower follower(folder(), 1);
  EXPECT_EQ(follower.take(), "three\n");
  LogFollower none(folder(), 0);
  log.write("four\n");
  EXPECT_EQ(none.take(), "four\n");
}

}  // namespace
}  // namespace muster::cluster
