#include "muster/cli/collectives.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cli/cli_testing.h"
#include "tests/support/temp_dir.h"

namespace muster::cli {
namespace {

using comm::collective::ChoiceTable;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Collectives, TextHasALinePerChoice) {
  const std::string text = collectives_text(ChoiceTable::builtin(), false);
  EXPECT_THAT(text, ContainsRegex("allreduce +flat +1M- +ring"));
  EXPECT_THAT(text, ContainsRegex("allreduce +flat +0-16k +recursive_doubling"));
}

TEST(Collectives, TextHasALinePerWayOnOneHost) {
  const std::string text = collectives_text(ChoiceTable::builtin(), false);
  EXPECT_THAT(text, ContainsRegex("allreduce +host +0-361 +inline +1 step"));
  EXPECT_THAT(text, ContainsRegex("allreduce +host +361-64k +stage"));
  EXPECT_THAT(text, ContainsRegex("allreduce +host +64k- +quickest"));
}

TEST(Collectives, JsonHoldsAllWays) {
  const auto ways = collectives_document(ChoiceTable::builtin())["ways"];
  EXPECT_EQ(ways[0]["operation"], "barrier");
  EXPECT_TRUE(ways[0]["to"].is_null());
  EXPECT_EQ(ways[1]["name"], "inline");
  EXPECT_EQ(ways[1]["to"], 361);
  EXPECT_EQ(ways[3]["name"], "lend");
  EXPECT_EQ(ways[3]["from"], 16384);
}

TEST(Collectives, JsonHoldsTheTableAndAllAlgorithms) {
  const auto document = collectives_document(ChoiceTable::builtin());
  EXPECT_EQ(document["table"].size(), ChoiceTable::builtin().rows().size());
  EXPECT_EQ(document["table"][0]["operation"], "barrier");
  EXPECT_TRUE(document["table"][0]["to"].is_null());
  EXPECT_EQ(document["algorithms"].size(), comm::collective::algorithm_rows().size());
}

TEST(Collectives, ShowsWhatWasOverridden) {
  const auto table = ChoiceTable::parse("allreduce/flat:*:rabenseifner");
  ASSERT_TRUE(table);
  EXPECT_THAT(collectives_markdown(*table),
              HasSubstr("| `allreduce` | flat | 0- | `rabenseifner` |"));
}

class CollectivesOverride : public testing::Test {
 protected:
  static Outcome run_under(const std::string& value) {
    ::setenv("MUSTER_COLLECTIVES", value.c_str(), 1);
    Outcome outcome = run_with({"collectives"});
    ::unsetenv("MUSTER_COLLECTIVES");
    return outcome;
  }

  static void expect_override(const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, ContainsRegex("allreduce +flat +0-4k +recursive_doubling"));
    EXPECT_THAT(outcome.out, ContainsRegex("allreduce +flat +4k- +ring"));
    EXPECT_THAT(outcome.out, Not(ContainsRegex("allreduce +flat +.*rabenseifner")));
    EXPECT_THAT(outcome.out, ContainsRegex("allreduce +mixed +0- +two_level"));
  }
};

TEST_F(CollectivesOverride, IsShownWhenAVariableHoldsIt) {
  expect_override(run_under("allreduce/flat:4k-:ring"));
}

TEST_F(CollectivesOverride, IsShownWhenAFileHoldsIt) {
  const test::TempDir folder;
  const std::string path = (folder.path() / "choices").string();
  std::ofstream(path) << "# rings for all that is large\nallreduce/flat:4k-:ring\n";
  expect_override(run_under("@" + path));
}

TEST_F(CollectivesOverride, IsShownForRanksOnOneHost) {
  const Outcome outcome = run_under("allreduce/host:1M-:stream");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("allreduce +host +64k-1M +quickest"));
  EXPECT_THAT(outcome.out, ContainsRegex("allreduce +host +1M- +stream"));
  EXPECT_THAT(run_under("allreduce/host:*:lend").err,
              HasSubstr("'lend' takes blocks of 16384 bytes and more"));
}

TEST_F(CollectivesOverride, IsNamedByTheHelp) {
  EXPECT_THAT(run_with({"collectives", "--help"}).out,
              AllOf(HasSubstr("MUSTER_COLLECTIVES=allreduce/host:1M-:stream"),
                    HasSubstr("MUSTER_COLLECTIVES=@choices.txt")));
}

TEST_F(CollectivesOverride, SaysWhereItIsWrong) {
  const Outcome outcome = run_under("allreduce:4k-:rings");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("MUSTER_COLLECTIVES: at position 15"));
  EXPECT_THAT(outcome.err, HasSubstr("perhaps 'ring' is meant"));
  EXPECT_THAT(run_under("@/no/such/file").err, HasSubstr("cannot read the file '/no/such/file'"));
}

}  // namespace
}  // namespace muster::cli
