#include "muster/cli/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cli/cli_testing.h"

namespace muster::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Cli, HelpListsTheCommands) {
  const Outcome outcome = run_with({"--help"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, HasSubstr("version"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(Cli, HelpHasExamples) {
  EXPECT_THAT(run_with({"--help"}).out, HasSubstr("Examples:\n  muster run"));
}

TEST(Cli, HelpOfACommandHasExamples) {
  const Outcome outcome = run_with({"version", "--help"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("Examples:"), HasSubstr("muster version -o json")));
}

TEST(Cli, RunsACommand) {
  const Outcome outcome = run_with({"version"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, HasSubstr("compiler"));
}

TEST(Cli, SuggestsACommandForAMistypedOne) {
  const Outcome outcome = run_with({"verison"});
  EXPECT_EQ(outcome.status, kUsageError);
  EXPECT_THAT(outcome.err, HasSubstr("unknown command 'verison'; did you mean 'version'?"));
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST(Cli, SuggestsAnOptionForAMistypedOne) {
  const Outcome outcome = run_with({"version", "--outptu", "json"});
  EXPECT_EQ(outcome.status, kUsageError);
  EXPECT_THAT(outcome.err, HasSubstr("muster version: unknown option '--outptu'; did you mean "
                                     "'--output'?"));
}

TEST(Cli, RefusesAnUnknownOutputFormat) {
  const Outcome outcome = run_with({"version", "-o", "xml"});
  EXPECT_EQ(outcome.status, kUsageError);
  EXPECT_THAT(outcome.err, HasSubstr("xml"));
}

TEST(Cli, ShowsHelpWithoutACommand) {
  const Outcome outcome = run_with({});
  EXPECT_EQ(outcome.status, kUsageError);
  EXPECT_THAT(outcome.err, HasSubstr("version"));
}

TEST(Cli, VersionFlagPrintsTheVersionOnly) {
  const Outcome outcome = run_with({"--version"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, testing::MatchesRegex("[0-9.]+\n"));
}

}  // namespace
}  // namespace muster::cli
