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

}  // namespace
}  // namespace muster
