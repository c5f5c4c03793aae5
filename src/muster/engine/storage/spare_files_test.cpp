#include "muster/engine/storage/spare_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::engine {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(SpareFiles, GivesEachOnce) {
  SpareFiles spares;
  EXPECT_TRUE(spares.add(100, "a"));
  EXPECT_EQ(spares.take(100), "a");
  EXPECT_EQ(spares.take(100), "");
}

TEST(SpareFiles, GivesTheNextLargerOneElseASmallerOne) {
  SpareFiles spares;
  for (const std::size_t bytes : {50, 90, 110, 300})
    ASSERT_TRUE(spares.add(bytes, std::to_string(bytes)));
  EXPECT_EQ(spares.take(100), "110");
  EXPECT_EQ(spares.take(100), "90") << "300 is much too large";
  EXPECT_EQ(spares.take(100), "50");
  EXPECT_EQ(spares.take(100), "");
}

TEST(SpareFiles, KeepsFew) {
  SpareFiles spares;
  for (std::size_t i = 0; i < SpareFiles::kMost; ++i) ASSERT_TRUE(spares.add(1, "small"));
  EXPECT_FALSE(spares.add(1, "one more"));
  EXPECT_EQ(spares.take_all().size(), SpareFiles::kMost);
  EXPECT_TRUE(spares.add(1, "one more"));
}

TEST(SpareFiles, KeepsFewBytes) {
  SpareFiles spares;
  EXPECT_FALSE(spares.add(SpareFiles::kMostBytes + 1, "too large"));
  EXPECT_TRUE(spares.add(SpareFiles::kMostBytes - 1, "large"));
  EXPECT_FALSE(spares.add(2, "no more"));
  EXPECT_TRUE(spares.add(1, "fits"));
  EXPECT_THAT(spares.take_all(), UnorderedElementsAre("large", "fits"));
  EXPECT_THAT(spares.take_all(), IsEmpty());
  EXPECT_TRUE(spares.add(SpareFiles::kMostBytes, "all"));
}

}  // namespace
}  // namespace muster::engine
