#include "muster/cli/job.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "muster/cli/cli_testing.h"
#include "tests/support/temp_dir.h"

namespace muster::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class JobValidate : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    return path.string();
  }
  std::string good() {
    return file("good.yml", "name: x\ncomponents: {a: {num: 2, command: run}}");
  }
  std::string bad() { return file("bad.yml", "name: x\nnum: 2\ncomponents: {a: {comand: run}}"); }

  test::TempDir folder_;
};

TEST_F(JobValidate, SaysWhatAFileDescribes) {
  const Outcome outcome = run_with({"job", "validate", good()});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, HasSubstr("good.yml: job 'x', 1 component, 2 instances\n"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(JobValidate, TellsAllProblemsOfAllFiles) {
  const Outcome outcome = run_with({"job", "validate", bad(), good(), folder_.path() / "none"});
  EXPECT_EQ(outcome.status, kFailed);
  EXPECT_THAT(outcome.out, HasSubstr("good.yml: job 'x'"));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("bad.yml:2: unknown key 'num'"),
                                 HasSubstr("bad.yml:3: components.a: 'command' is missing"),
                                 HasSubstr("did you mean 'command'?"),
                                 HasSubstr("none: there is no such file")));
}

TEST_F(JobValidate, WritesJsonForPrograms) {
  const Outcome outcome = run_with({"job", "validate", "-o", "json", good(), bad()});
  EXPECT_EQ(outcome.status, kFailed);
  EXPECT_THAT(outcome.err, IsEmpty());
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document[0]["ok"], true);
  EXPECT_EQ(document[0]["spec"]["components"]["a"]["num"], 2);
  EXPECT_EQ(document[1]["ok"], false);
  EXPECT_EQ(document[1]["problems"][0]["line"], 2);
}

TEST_F(JobValidate, TakesAFileThatSaysNothingForAJob) {
  std::ofstream(folder_.path() / "empty.yml") << "# nothing\n";
  const Outcome outcome = run_with({"job", "validate", folder_.path() / "empty.yml"});
  EXPECT_EQ(outcome.status, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("empty.yml:"));
}

TEST_F(JobValidate, RefusesAFolder) {
  const Outcome outcome = run_with({"job", "validate", folder_.path().string()});
  EXPECT_EQ(outcome.status, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("is a folder, not a file"));
}

TEST_F(JobValidate, WantsAFile) { EXPECT_EQ(run_with({"job", "validate"}).status, kUsageError); }

TEST(JobSchemaCommand, WritesTheSchema) {
  EXPECT_TRUE(nlohmann::json::parse(run_with({"job", "schema"}).out).contains("$defs"));
}

}  // namespace
}  // namespace muster::cli
