#include "muster/cli/cli.h"

#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

Outcome run_with(std::initializer_list<const char*> arguments) {
  std::vector<const char*> argv = {"muster"};
  argv.insert(argv.end(), arguments);
  std::ostringstream out;
  std::ostringstream err;
  const int status = run(static_cast<int>(argv.size()), argv.data(), out, err);
  return {status, out.str(), err.str()};
}

TEST(Cli, HelpListsTheCommands) {
  const Outcome outcome = run_with({"--help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("version"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(Cli, RunsACommand) {
  const Outcome outcome = run_with({"version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("compiler"));
}

TEST(Cli, PassesOptionsToTheCommand) {
  const Outcome outcome = run_with({"version", "-o", "json"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr(R"("compiler":)"));
}

TEST(Cli, SuggestsACommandForAMistypedOne) {
  const Outcome outcome = run_with({"verison"});
  EXPECT_EQ(outcome.status, kUsageError);
  EXPECT_THAT(outcome.err, HasSubstr("unknown command 'verison'; did you mean 'version'?"));
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST(Cli, RefusesAnUnknownOption) {
  const Outcome outcome = run_with({"version", "--colour"});
  EXPECT_EQ(outcome.status, kUsageError);
  EXPECT_THAT(outcome.err, HasSubstr("--colour"));
}

TEST(Cli, RefusesAnUnknownOutputFormat) {
  EXPECT_EQ(run_with({"version", "-o", "xml"}).status, kUsageError);
}

TEST(Cli, RefusesToRunWithoutACommand) { EXPECT_EQ(run_with({}).status, kUsageError); }

}  // namespace
}  // namespace muster::cli
