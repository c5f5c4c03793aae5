#include "muster/base/name.h"

#include <unordered_map>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Name, ComparesByItsText) {
  EXPECT_EQ(Name("actor"), Name(std::string("actor")));
  EXPECT_NE(Name("actor"), Name("actors"));
  EXPECT_LT(Name("a"), Name("b"));
  EXPECT_TRUE(Name("").empty());
  EXPECT_EQ(Name(), Name(""));
}

TEST(Name, SharesItsTextBetweenCopies) {
  const Name name("a name longer than any small string optimisation");
  const Name copy = name;
  EXPECT_EQ(copy.view().data(), name.view().data());
}

TEST(Name, IsFoundByATextView) {
  const std::unordered_map<Name, int, NameHash, NameEqual> map{{Name("x"), 1}};
  EXPECT_NE(map.find(std::string_view("x")), map.end());
}

}  // namespace
}  // namespace muster
