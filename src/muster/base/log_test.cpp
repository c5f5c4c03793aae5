#include "muster/base/log.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Log, SendsLinesAtOrAboveTheLevelToTheSink) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view area, std::string_view text) {
    lines.push_back(fmt::format("{}|{}", area, text));
  });
  set_log_level(LogLevel::warning);
  log(LogLevel::info, "comm", "not {}", "seen");
  log(LogLevel::error, "comm", "dropped {} bytes", 7);
  set_log_sink({});
  EXPECT_EQ(lines, std::vector<std::string>{"comm|dropped 7 bytes"});
}

TEST(Log, RemembersTheLastLines) {
  set_log_sink([](LogLevel, std::string_view, std::string_view) {});
  set_log_level(LogLevel::warning);
  for (int line = 0; line < 1100; ++line) log(LogLevel::warning, "comm", "line {}", line);
  set_log_sink({});
  EXPECT_EQ(recent_log_lines(5000).size(), 1000u);
  const auto lines = recent_log_lines(2);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].ends_with(" warning comm: line 1098")) << lines[0];
  EXPECT_TRUE(lines[1].ends_with(" warning comm: line 1099")) << lines[1];
}

}  // namespace
}  // namespace muster
