#include "muster/cli/table.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

TEST(Table, MakesColumnsAsWideAsTheirTexts) {
  Table table{"NAME", "STATE"};
  table.add({"a-long-name", "running"});
  table.add({"x", ""});
  EXPECT_EQ(table.text(false),
            "NAME         STATE\n"
            "a-long-name  running\n"
            "x\n");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table{"A", "B"};
  table.add({"ä", "1"});
  table.add({"bb", "2"});
  EXPECT_EQ(table.text(false), "A   B\nä   1\nbb  2\n");
}

TEST(Table, ColoursOnlyWhenAsked) {
  Table table{"A", "B"};
  table.add({Cell("ok", Style::good), "x"});
  EXPECT_EQ(table.text(false), "A   B\nok  x\n");
  EXPECT_EQ(table.text(true), "\033[2mA\033[0m   \033[2mB\033[0m\n\033[32mok\033[0m  x\n");
}

}  // namespace
}  // namespace muster::cli
