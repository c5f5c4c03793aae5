#include "muster/cli/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cli/cli_testing.h"

namespace muster::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Reference, ListsAndDescribesEveryCommand) {
  const std::string page = run_with({"reference", "cli"}).out;
  EXPECT_THAT(page, AllOf(HasSubstr("| [`muster job validate`](#muster-job-validate) |"),
                          HasSubstr("\n## muster job validate\n"),
                          HasSubstr("    muster job validate [OPTIONS] FILE...\n"),
                          HasSubstr("| `-o`, `--output` table\\|json\\|yaml |"),
                          HasSubstr("```bash\nmuster version\n")));
  EXPECT_THAT(page, Not(HasSubstr("muster complete ")));
}

TEST(Reference, DescribesEveryFieldOfAJob) {
  EXPECT_THAT(run_with({"reference", "job"}).out,
              AllOf(HasSubstr("| `num` | a whole number from 1 to 100000 |"),
                    HasSubstr("see [resources](#resources)"), HasSubstr("\n## resources\n")));
}

}  // namespace
}  // namespace muster::cli
