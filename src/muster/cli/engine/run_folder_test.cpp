#include "muster/cli/engine/run_folder.h"

#include <fstream>
#include <optional>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

TEST(RunFolder, GoesWithItsOwner) {
  const test::TempDir parent;
  fs::path path;
  {
    const auto folder = RunFolder::make(parent.path()).value();
    path = folder.path();
    std::ofstream(path / "file") << "x";
    EXPECT_TRUE(fs::exists(path / "file"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(RunFolder, RemovesWhatKilledProcessesLeftAndNothingElse) {
  const test::TempDir parent;
  const fs::path dead = parent.path() / "muster-local-999999999-1-00";
  const fs::path other = parent.path() / "muster-local-mine";
  fs::create_directory(dead);
  fs::create_directory(other);
  const auto first = RunFolder::make(parent.path()).value();
  const auto second = RunFolder::make(parent.path()).value();
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(fs::exists(first.path()));
  EXPECT_TRUE(fs::exists(second.path()));
}

}  // namespace
}  // namespace muster::cli
