#include "muster/cli/output.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "muster/cli/cli_testing.h"

namespace muster::cli {
namespace {

TEST(YamlText, ReadsBackAsTheSameDocument) {
  const nlohmann::ordered_json document = {{"text", "a: \"b\"\n# ä"},
                                           {"looks like a number", "5"},
                                           {"number", 5},
                                           {"list", {1, true, nullptr}},
                                           {"empty", nlohmann::ordered_json::object()}};
  const YAML::Node node = YAML::Load(yaml_text(document));
  EXPECT_EQ(node["text"].as<std::string>(), "a: \"b\"\n# ä");
  EXPECT_EQ(node["looks like a number"].Tag(), "!");  // quoted, so a text
  EXPECT_EQ(node["number"].as<int>(), 5);
  EXPECT_EQ(node["list"].size(), 3u);
  EXPECT_TRUE(node["list"][2].IsNull());
  EXPECT_TRUE(node["empty"].IsMap());
}

TEST(YamlText, QuotesOnlyTheKeysThatNeedIt) {
  EXPECT_EQ(yaml_text({{"exit_code", 1}, {"no", 2}, {"5", 3}, {"a b", "c"}}),
            "exit_code: 1\n\"no\": 2\n\"5\": 3\n\"a b\": \"c\"\n");
}

TEST(Output, TellsTheSameInEveryFormat) {
  const auto json = nlohmann::json::parse(run_with({"version", "-o", "json"}).out);
  const YAML::Node yaml = YAML::Load(run_with({"version", "-o", "yaml"}).out);
  EXPECT_EQ(yaml["version"].as<std::string>(), json["version"].get<std::string>());
  EXPECT_EQ(run_with({"version", "-o", "table"}).out, run_with({"version"}).out);
}

}  // namespace
}  // namespace muster::cli
