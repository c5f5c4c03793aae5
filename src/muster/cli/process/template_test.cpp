#include "muster/cli/process/template.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cli/cli_testing.h"
#include "tests/support/temp_dir.h"

namespace muster::cli {
namespace {

using testing::HasSubstr;

class ProcessTemplate : public testing::Test {
 protected:
  test::TempDir root_;
  std::filesystem::path folder_ = root_.path() / "new" / "folder";
};

TEST_F(ProcessTemplate, WritesDescriptionsThatAreValid) {
  const Outcome outcome = run_with({"process", "template", folder_});
  ASSERT_EQ(outcome.status, kDone) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr((folder_ / "hello.yml").string() + "\n"));
  std::vector<std::string> command = {"job", "validate"};
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.path().extension() == ".yml") command.push_back(entry.path());
  }
  EXPECT_EQ(command.size(), 6u);
  const Outcome validated = run_with(command);
  EXPECT_EQ(validated.status, kDone) << validated.err;
  EXPECT_THAT(validated.out, HasSubstr("settings.yml: settings of process mode\n"));
}

TEST_F(ProcessTemplate, OverwritesOnlyWhenForced) {
  ASSERT_EQ(run_with({"process", "template", folder_}).status, kDone);
  std::ofstream(folder_ / "schedule.yml") << "mine";
  std::filesystem::remove(folder_ / "hello.yml");
  const Outcome refused = run_with({"process", "template", folder_});
  EXPECT_EQ(refused.status, kFailed);
  EXPECT_THAT(refused.err, HasSubstr("is there already; --force overwrites it"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "hello.yml"));
  EXPECT_EQ(run_with({"process", "template", folder_, "--force"}).status, kDone);
  EXPECT_GT(std::filesystem::file_size(folder_ / "schedule.yml"), 100u);
}

TEST_F(ProcessTemplate, SaysWhyItCannotWrite) {
  std::ofstream(root_.path() / "file") << "x";
  const Outcome outcome = run_with({"process", "template", root_.path() / "file"});
  EXPECT_EQ(outcome.status, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("cannot make"));
}

}  // namespace
}  // namespace muster::cli
