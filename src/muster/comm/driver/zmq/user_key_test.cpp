#include "muster/comm/driver/zmq/user_key.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <stdlib.h>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace muster::comm {
namespace {

// One folder for the user's files, as MUSTER_RUNTIME_DIR names it.
class UserKey : public testing::Test {
 protected:
  void SetUp() override { ::setenv("MUSTER_RUNTIME_DIR", root().c_str(), 1); }
  void TearDown() override { ::unsetenv("MUSTER_RUNTIME_DIR"); }
  [[nodiscard]] std::filesystem::path root() const { return folder_.path() / "root"; }

 private:
  test::TempDir folder_;
};

TEST_F(UserKey, IsMadeOnceAndForItsOwnerOnly) {
  const auto key = user_key();
  ASSERT_TRUE(key.has_value()) << key.error().message();
  EXPECT_EQ(key->size(), 64u);
  EXPECT_EQ(*user_key(), *key);
  EXPECT_EQ(std::filesystem::status(root() / "user key").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(UserKey, IsTheSameForAllWhoMakeItAtOnce) {
  std::mutex mutex;
  std::set<std::string> keys;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        const auto key = user_key();
        const std::lock_guard lock(mutex);
        keys.insert(key.value_or("none"));
      });
    }
  }
  EXPECT_EQ(keys.size(), 1u);
  EXPECT_FALSE(keys.contains("none"));
}

TEST_F(UserKey, IsRefusedWhenOthersCanReadIt) {
  ASSERT_TRUE(user_key().has_value());
  std::filesystem::permissions(root() / "user key", std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  const auto key = user_key();
  ASSERT_FALSE(key.has_value());
  EXPECT_NE(key.error().message().find("lets other users in"), std::string::npos);
}

TEST_F(UserKey, IsRefusedWhenItIsDamaged) {
  ASSERT_TRUE(user_key().has_value());
  std::filesystem::resize_file(root() / "user key", 10);
  EXPECT_FALSE(user_key().has_value());
}

}  // namespace
}  // namespace muster::comm
