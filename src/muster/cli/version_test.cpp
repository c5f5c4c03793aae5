#include "muster/cli/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "muster/cli/cli_testing.h"
#include "muster/version.h"

namespace muster::cli {
namespace {

using testing::HasSubstr;

TEST(Version, ShowsOneFactPerLine) {
  const Outcome outcome = run_with({"version"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, HasSubstr("muster   " + std::string(kVersion) + "\ncompiler "));
}

TEST(Version, JsonHoldsTheSameFacts) {
  const auto document = nlohmann::json::parse(run_with({"version", "-o", "json"}).out);
  EXPECT_EQ(document["version"], kVersion);
  EXPECT_EQ(document["compiler"], version_info().compiler);
  EXPECT_EQ(document["drivers"], version_info().drivers);
}

TEST(Version, InfoNamesTheDriversOfThisBuild) {
  EXPECT_THAT(version_info().drivers, testing::Contains("inproc"));
}

TEST(Version, InfoNamesTheProjectVersion) { EXPECT_EQ(version_info().version, kVersion); }

}  // namespace
}  // namespace muster::cli
