#include "muster/cluster/launch/process/exit_record.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace muster::cluster {
namespace {

const ExitRecord kRecord{.status = {.signal = 9},
                         .out_of_memory = true,
                         .started_ms = 1'700'000'000'000,
                         .ended_ms = 1'700'000'000'250};

TEST(ExitRecord, ComesOutAsItWentIn) {
  EXPECT_EQ(ExitRecord::parse(kRecord.text()), kRecord);
  const ExitRecord failed{.status = {.code = 127}, .failure = "'x': no such file"};
  EXPECT_EQ(ExitRecord::parse(failed.text()), failed);
}

TEST(ExitRecord, IsNotReadWhenItIsNotWhole) {
  const std::string text = kRecord.text();
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(ExitRecord::parse(text.substr(0, length))) << length;
  }
  EXPECT_FALSE(ExitRecord::parse("code x\nend\n"));
}

TEST(ExitRecord, DescribesItself) {
  EXPECT_EQ(ExitRecord{.status = {.code = 3}}.description(), "exit code 3");
  EXPECT_EQ(kRecord.description(), "out of memory (signal 9 (SIGKILL))");
  EXPECT_EQ(ExitRecord{.failure = "cannot run 'x'"}.description(), "cannot run 'x'");
}

TEST(ExitRecord, LiesInItsFolderWholeOrNotAtAll) {
  const test::TempDir folder;
  EXPECT_FALSE(read_exit_record(folder.path()));
  ASSERT_TRUE(write_durably(folder.path(), kExitFile, kRecord.text()));
  EXPECT_EQ(read_exit_record(folder.path()), kRecord);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(ExitRecord, SaysWhereItCannotBeWritten) {
  const auto written = write_durably("/nowhere", kExitFile, "");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), testing::HasSubstr("/nowhere/exit"));
}

}  // namespace
}  // namespace muster::cluster
