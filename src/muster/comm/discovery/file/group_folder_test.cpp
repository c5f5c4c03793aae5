#include "muster/comm/discovery/file/group_folder.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "muster/comm/discovery/file/file_name.h"
#include "tests/support/temp_dir.h"

namespace muster::comm::file {
namespace {

Entry some_entry() {
  Entry entry;
  entry.name = "a";
  entry.type = "t";
  entry.instance = InstanceId(1);
  return entry;
}

TEST(GroupFolder, ReadsAFileThatIsKnownOnlyOnce) {
  const test::TempDir root;
  const GroupFolder folder(root.path() / "store", "g");
  const Entry entry = some_entry();
  const std::string name = fresh_file(entry.name, entry.instance);
  const TimePoint until = SteadyClock().now() + std::chrono::hours(1);
  const auto file = folder.write(name, own_registration(entry, 1).to_text(), until);
  ASSERT_TRUE(file) << file.error().message();

  KnownFiles known;
  const auto first = folder.scan(known, KnownFiles::Ask::now_and_then);
  ASSERT_TRUE(first) << first.error().message();
  ASSERT_EQ(first->size(), 1u);
  std::ofstream(folder.path() / name) << "what cannot be read";
  ASSERT_TRUE(folder.scan()->empty());
  const auto second = folder.scan(known, KnownFiles::Ask::now_and_then);
  ASSERT_TRUE(second) << second.error().message();
  ASSERT_EQ(second->size(), 1u);
  EXPECT_EQ(second->front().registration.entry, entry);
}

TEST(GroupFolder, ForgetsWhatItKnewOfAFileThatIsGone) {
  const test::TempDir root;
  const GroupFolder folder(root.path() / "store", "g");
  const Entry entry = some_entry();
  const std::string name = fresh_file(entry.name, entry.instance);
  KnownFiles known;
  {
    const auto file = folder.write(name, own_registration(entry, 1).to_text(),
                                   SteadyClock().now() + std::chrono::hours(1));
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_EQ(folder.scan(known, KnownFiles::Ask::now_and_then)->size(), 1u);
    ASSERT_NE(known.find(name), nullptr);
  }
  EXPECT_TRUE(folder.scan(known, KnownFiles::Ask::now_and_then)->empty());
  EXPECT_EQ(known.find(name), nullptr);
}

}  // namespace
}  // namespace muster::comm::file
