#include "muster/cluster/job/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace muster::cluster {
namespace {

using testing::HasSubstr;

TEST(JobSchema, HasEveryFieldWithItsLimits) {
  const auto schema = nlohmann::json::parse(job_schema());
  EXPECT_EQ(schema["required"], (nlohmann::json{"name", "components"}));
  EXPECT_EQ(schema["additionalProperties"], false);
  const auto& component = schema["$defs"]["component"];
  EXPECT_EQ(component["required"], (nlohmann::json{"command"}));
  EXPECT_EQ(component["properties"]["num"]["maximum"], 100'000);
  EXPECT_EQ(component["properties"]["resources"]["$ref"], "#/$defs/resources");
  EXPECT_EQ(schema["$defs"]["restart"]["properties"]["policy"]["enum"],
            (nlohmann::json{"never", "on-failure", "always"}));
}

TEST(JobSchema, RefersToNothingThatIsNotThere) {
  const std::string text = job_schema();
  const auto schema = nlohmann::json::parse(text);
  for (std::size_t at = text.find("#/$defs/"); at != std::string::npos;
       at = text.find("#/$defs/", at + 1)) {
    const std::size_t begin = at + std::string_view("#/$defs/").size();
    const std::string name = text.substr(begin, text.find('"', begin) - begin);
    EXPECT_TRUE(schema["$defs"].contains(name)) << name;
  }
}

TEST(JobReference, SaysWhatHoldsWithoutAKey) {
  EXPECT_THAT(job_reference(), HasSubstr("| `backoff` | a time, such as 90s, 5m or 1h30m |"));
  EXPECT_THAT(job_reference(), HasSubstr("| `command` | a command line, or a list of program and "
                                         "arguments |"));
}

}  // namespace
}  // namespace muster::cluster
