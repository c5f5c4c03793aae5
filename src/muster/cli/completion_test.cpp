#include "muster/cli/completion.h"

#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cli/cli_testing.h"
#include "muster/cli/tree.h"

namespace muster::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string completed(const std::vector<std::string>& words) {
  std::vector<std::string> arguments = {"complete"};
  for (const std::string& word : words) arguments.push_back("=" + word);
  return run_with(arguments).out;
}

TEST(Completion, OffersCommandsWithTheirSummaries) {
  EXPECT_THAT(completed({"ver"}), StartsWith("version\tPrint the version"));
  EXPECT_THAT(completed({""}), AllOf(HasSubstr("job\t"), HasSubstr("doctor\t")));
  EXPECT_THAT(completed({"job", "val"}), StartsWith("validate\t"));
}

TEST(Completion, HidesWhatHelpHides) {
  EXPECT_THAT(completed({"comp"}), Not(HasSubstr("complete\t")));
}

TEST(Completion, OffersOptions) {
  EXPECT_THAT(completed({"version", "--ou"}), StartsWith("--output\t"));
  EXPECT_THAT(completed({"version", "--"}), AllOf(HasSubstr("--output\t"), HasSubstr("--help\t")));
}

TEST(Completion, OffersTheValuesOfAnOption) {
  EXPECT_EQ(completed({"version", "-o", ""}), "table\t\njson\t\nyaml\t\n");
  EXPECT_EQ(completed({"version", "--output", "y"}), "yaml\t\n");
}

TEST(Completion, OffersTheValuesOfAnArgument) {
  EXPECT_EQ(completed({"completion", ""}), "bash\t\nzsh\t\nfish\t\n");
}

TEST(Completion, LeavesFilesToTheShell) {
  EXPECT_EQ(completed({"job", "validate", "exa"}), ":files\n");
  EXPECT_EQ(completed({"job", "validate", "a.yml", "b"}), ":files\n");
}

Action set_up_nothing(CLI::App&, Io) {
  return [] { return kDone; };
}
Action set_up_feed(CLI::App& parser, Io) {
  auto name = std::make_shared<std::string>();
  parser.add_option("NAME", *name, "Of a pet");
  return [name] { return kDone; };
}

TEST(Completion, AsksTheListOfTheGroupForNames) {
  constexpr Command kCommands[] = {{"pet", "", "", nullptr},
                                   {"pet list", "", "", set_up_nothing},
                                   {"pet feed", "", "", set_up_feed}};
  std::ostringstream stream;
  const CommandTree tree(kCommands, {stream, stream});
  std::vector<std::string> asked;
  const auto offered = [&](const std::string& answer) {
    const Runner runner = [&](const std::vector<std::string>& words) {
      asked = words;
      return answer;
    };
    std::vector<std::string> words;
    for (const auto& each : complete(tree.root(), {"pet", "feed", "r"}, runner).candidates) {
      words.push_back(each.word);
    }
    return words;
  };
  EXPECT_THAT(offered(R"([{"name": "rex"}, {"name": "tom"}, {"name": "rita"}, 5, {"name": 1}])"),
              ElementsAre("rex", "rita"));
  EXPECT_THAT(asked, ElementsAre("pet", "list", "-o", "json"));
  EXPECT_THAT(offered("muster: no agent runs"), ElementsAre());
}

TEST(Completion, SaysNothingWhereNothingFits) {
  EXPECT_EQ(completed({"nonsense", "x"}), "");
  EXPECT_EQ(completed({"version", "x"}), "");
}

TEST(Completion, KnowsItsShells) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(run_with({"completion", shell}).out, HasSubstr("muster complet")) << shell;
  }
  EXPECT_EQ(run_with({"completion", "csh"}).status, kUsageError);
  EXPECT_EQ(run_with({"completion"}).status, kUsageError);
}

}  // namespace
}  // namespace muster::cli
