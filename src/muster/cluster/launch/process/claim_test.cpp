#include "muster/cluster/launch/process/claim.h"

#include <filesystem>
#include <memory>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

namespace muster::cluster {
namespace {

TEST(Claim, BelongsToTheFirst) {
  const test::TempDir folder;
  EXPECT_FALSE(read_claim(folder.path()));
  auto first = take_claim(folder.path(), shim_claim_text(12));
  ASSERT_TRUE(first && *first);
  const auto second = take_claim(folder.path(), "void\n");
  ASSERT_TRUE(second);
  EXPECT_FALSE(*second);
  EXPECT_EQ(read_claim(folder.path())->shim, 12);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Claim, TellsWhetherItsOwnerLives) {
  const test::TempDir folder;
  auto claim = take_claim(folder.path(), shim_claim_text(12));
  ASSERT_TRUE(claim && *claim);
  add_component(**claim, 13);
  EXPECT_TRUE(read_claim(folder.path())->held);
  EXPECT_EQ(read_claim(folder.path())->component, 13);
  (*claim)->reset();
  EXPECT_FALSE(read_claim(folder.path())->held);
  EXPECT_EQ(read_claim(folder.path())->component, 13);
}

TEST(Claim, IsLetGoByAProcessThatIsKilled) {
  const test::TempDir folder;
  const test::Milestone claimed;
  test::Child child([&] {
    auto claim = take_claim(folder.path(), "x");
    claimed.reach();
    ::pause();
  });
  ASSERT_TRUE(claimed.wait());
  EXPECT_TRUE(read_claim(folder.path())->held);
  child.kill();
  EXPECT_FALSE(read_claim(folder.path())->held);
}

TEST(Claim, IsTakenOnceByManyProcesses) {
  const test::TempDir folder;
  std::vector<std::unique_ptr<test::Child>> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(std::make_unique<test::Child>([&] {
      const auto claim = take_claim(folder.path(), "x");
      ::_exit(claim && *claim ? 7 : 0);
    }));
  }
  int owners = 0;
  for (auto& child : children) owners += child->wait() == 7 ? 1 : 0;
  EXPECT_EQ(owners, 1);
}

TEST(Claim, FailsWithoutAFolder) { EXPECT_FALSE(take_claim("/nowhere", "x")); }

}  // namespace
}  // namespace muster::cluster
