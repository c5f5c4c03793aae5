#include "muster/cluster/launch/process/line_prefixer.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace muster::cluster {
namespace {

TEST(LinePrefixer, PutsThePrefixBeforeEachLine) {
  LinePrefixer prefixer("[0] ");
  EXPECT_EQ(prefixer.take("one\n\ntwo\n"), "[0] one\n[0] \n[0] two\n");
  EXPECT_EQ(prefixer.finish(), "");
}

TEST(LinePrefixer, WaitsForTheEndOfALine) {
  LinePrefixer prefixer("> ");
  EXPECT_EQ(prefixer.take("be"), "");
  EXPECT_EQ(prefixer.take("gun\nand"), "> begun\n");
  EXPECT_EQ(prefixer.finish(), "> and\n");
  EXPECT_EQ(prefixer.finish(), "");
}

TEST(LinePrefixer, DoesNotHoldALineWithoutEnd) {
  LinePrefixer prefixer("");
  std::string out;
  for (int i = 0; i < 100; ++i) out += prefixer.take(std::string(4096, 'x'));
  EXPECT_GE(out.size(), 100u * 4096 - LinePrefixer::kLongestLine);
  EXPECT_GT(std::ranges::count(out, '\n'), 0);
}

}  // namespace
}  // namespace muster::cluster
