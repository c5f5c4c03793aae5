#include "muster/cli/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "muster/version.h"

namespace muster::cli {
namespace {

const VersionInfo kInfo = {
    .version = "1.2.3", .compiler = "gcc 12.2.0", .drivers = {"inproc", "zmq"}};

TEST(Version, TextShowsOneFactPerLine) {
  EXPECT_EQ(version_text(kInfo), "muster   1.2.3\ncompiler gcc 12.2.0\ndrivers  inproc zmq\n");
}

TEST(Version, TextSaysNoneWithoutDrivers) {
  EXPECT_THAT(version_text({.version = "1", .compiler = "gcc", .drivers = {}}),
              testing::HasSubstr("drivers  none"));
}

TEST(Version, JsonHoldsTheSameFacts) {
  const auto document = nlohmann::json::parse(version_json(kInfo));
  EXPECT_EQ(document["version"], "1.2.3");
  EXPECT_EQ(document["compiler"], "gcc 12.2.0");
  EXPECT_EQ(document["drivers"], (nlohmann::json{"inproc", "zmq"}));
}

TEST(Version, InfoNamesTheDriversOfThisBuild) {
  EXPECT_THAT(version_info().drivers, testing::Contains("inproc"));
}

TEST(Version, InfoNamesTheProjectVersion) { EXPECT_EQ(version_info().version, kVersion); }

}  // namespace
}  // namespace muster::cli
