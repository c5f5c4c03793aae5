#include "muster/cli/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cli/cli_testing.h"

namespace muster::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Run, PutsTheRankBeforeEachLine) {
  const Outcome outcome = run_with({"run", "-n", "2", "--", "sh", "-c", "printf 'a\\nb'"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("[0] a\n"), HasSubstr("[0] b\n"), HasSubstr("[1] a\n"),
                                 HasSubstr("[1] b\n")));
}

TEST(Run, LeavesTheOutputAloneWhenAsked) {
  EXPECT_EQ(run_with({"run", "--no-prefix", "-n", "1", "printf", "a"}).out, "a");
}

TEST(Run, GivesTheProgramItsOptions) {
  EXPECT_EQ(run_with({"run", "-n", "1", "echo", "-n", "--help", "--", "x"}).out,
            "[0] --help -- x\n");
  EXPECT_EQ(run_with({"run", "-n", "1", "--", "echo", "--", "x"}).out, "[0] -- x\n");
  EXPECT_EQ(run_with({"run", "--ranks=1", "--no-prefix", "--", "echo", "-n", "x"}).out, "x");
  EXPECT_EQ(run_with({"run", "-n1", "--grace", "1s", "--", "echo", "x"}).out, "[0] x\n");
}

TEST(Run, PassesTheExitStatusThroughAndSaysWhoFailed) {
  const Outcome outcome =
      run_with({"run", "-n", "2", "sh", "-c", "[ $MUSTER_RANK = 1 ] && exit 7; exec sleep 100"});
  EXPECT_EQ(outcome.status, 7);
  EXPECT_EQ(outcome.err, "muster: rank 1 of 2: exit code 7\n");
}

TEST(Run, SetsVariables) {
  const Outcome outcome =
      run_with({"run", "-n", "1", "-e", "A=x y", "--env", "B=2", "sh", "-c", "echo $A $B"});
  EXPECT_EQ(outcome.out, "[0] x y 2\n");
}

TEST(Run, ColoursRanksOnATerminal) {
  const Outcome outcome = run_with({"run", "-n", "1", "echo", "hi"}, true);
  EXPECT_EQ(outcome.out, "\033[31m[0] \033[0mhi\n");
}

TEST(Run, SaysWhatIsWrongWithTheCommandLine) {
  EXPECT_THAT(run_with({"run", "-n", "2"}).err, HasSubstr("no program to run"));
  EXPECT_EQ(run_with({"run", "-n", "0", "true"}).status, kUsageError);
  EXPECT_EQ(run_with({"run", "true"}).status, kUsageError);
  EXPECT_THAT(run_with({"run", "-n", "1", "-e", "x", "true"}).err, HasSubstr("NAME=VALUE"));
  EXPECT_THAT(run_with({"run", "-n", "1", "--grace", "soon", "true"}).err, HasSubstr("'soon'"));
}

TEST(Run, HelpsWithExamples) {
  EXPECT_THAT(run_with({"run", "--help"}).out,
              AllOf(HasSubstr("muster run [OPTIONS] -- PROGRAM [ARGUMENT...]\n"),
                    HasSubstr("muster run -n 4 -- python"), HasSubstr("--no-prefix"),
                    Not(HasSubstr("required"))));
}

}  // namespace
}  // namespace muster::cli
