#include "muster/service/token.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "muster/base/random.h"
#include "muster/service/errc.h"

namespace muster::service {
namespace {

/// A runtime folder of its own.
class TokenTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("muster-token-" + std::to_string(secure_random_u64()));
    ::setenv("MUSTER_RUNTIME_DIR", folder.c_str(), 1);
    ::unsetenv("MUSTER_TOKEN");
    ::unsetenv("MUSTER_SECRET");
  }
  void TearDown() override {
    ::unsetenv("MUSTER_RUNTIME_DIR");
    ::unsetenv("MUSTER_TOKEN");
    ::unsetenv("MUSTER_SECRET");
    std::filesystem::remove_all(folder);
  }
  std::filesystem::path folder;
};

TEST_F(TokenTest, IsLongAndNeverTheSame) {
  EXPECT_EQ(made_token().size(), 64u);
  EXPECT_NE(made_token(), made_token());
}

TEST_F(TokenTest, FollowsFromTheSecretAndDoesNotShowIt) {
  EXPECT_EQ(token_from_secret("hush"), token_from_secret("hush"));
  EXPECT_NE(token_from_secret("hush"), token_from_secret("hushed"));
  EXPECT_EQ(token_from_secret("hush").find("hush"), std::string::npos);
}

TEST_F(TokenTest, IsTheSameOnlyIfEveryLetterIs) {
  EXPECT_TRUE(same_token("abc", "abc"));
  EXPECT_FALSE(same_token("abc", "abd"));
  EXPECT_FALSE(same_token("abc", "ab"));
  EXPECT_FALSE(same_token("", "a"));
}

TEST_F(TokenTest, IsKeptForAllWhoAsk) {
  const auto path = token_path(1);
  const auto first = kept_token(path);
  ASSERT_TRUE(first.has_value()) << first.error().message();
  EXPECT_EQ(first->size(), 64u);
  EXPECT_EQ(*kept_token(path), *first);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ::chmod(path.c_str(), 0644);
  EXPECT_TRUE(kept_token(path).error().is(Errc::refused));
}

TEST_F(TokenTest, IsFoundByProgramsOfTheSameUser) {
  ASSERT_TRUE(write_token(token_path(7105), "word").has_value());
  struct stat status{};
  ASSERT_EQ(::stat(token_path(7105).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(token_for("127.0.0.1", 7105), "word");
  EXPECT_EQ(token_for("127.0.0.1", 7106), "");
  EXPECT_EQ(token_for("10.1.2.3", 7105), "") << "that is another host";
}

TEST_F(TokenTest, OfTheEnvironmentGoesBeforeTheFile) {
  ASSERT_TRUE(write_token(token_path(7105), "word").has_value());
  ::setenv("MUSTER_SECRET", "hush", 1);
  EXPECT_EQ(token_for("localhost", 7105), "word");
  EXPECT_EQ(token_for("10.1.2.3", 7105), token_from_secret("hush"));
  ::setenv("MUSTER_TOKEN", "said", 1);
  EXPECT_EQ(token_for("localhost", 7105), "said");
}

TEST_F(TokenTest, IsNotReadFromAFileThatOthersMayRead) {
  ASSERT_TRUE(write_token(token_path(1), "word").has_value());
  ::chmod(token_path(1).c_str(), 0644);
  const auto token = read_token(token_path(1));
  ASSERT_FALSE(token.has_value());
  EXPECT_TRUE(token.error().is(Errc::refused)) << token.error().message();
  EXPECT_NE(token.error().message().find("chmod 600"), std::string::npos);
}

TEST_F(TokenTest, IsOneWord) {
  ASSERT_TRUE(write_token(token_path(1), "two words").has_value());
  EXPECT_FALSE(read_token(token_path(1)).has_value());
  ASSERT_TRUE(write_token(token_path(1), "").has_value());
  EXPECT_FALSE(read_token(token_path(1)).has_value());
  EXPECT_FALSE(read_token(folder / "nowhere").has_value());
}

}  // namespace
}  // namespace muster::service
