#include "muster/cli/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cli {
namespace {

using comm::collective::ChoiceTable;
using testing::ContainsRegex;
using testing::HasSubstr;

TEST(Collectives, TextHasALinePerChoice) {
  const std::string text = collectives_text(ChoiceTable::builtin(), false);
  EXPECT_THAT(text, ContainsRegex("allreduce +flat +1M- +ring"));
  EXPECT_THAT(text, ContainsRegex("allreduce +flat +0-16k +recursive_doubling"));
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

}  // namespace
}  // namespace muster::cli
