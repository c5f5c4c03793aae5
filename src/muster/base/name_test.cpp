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

TEST(Name, IsComparedByWhatItHoldsNow) {
  Name first("actor");
  Name second("learner");
  const Name taken(std::move(first));
  EXPECT_EQ(taken, Name("actor"));
  const Name other(std::move(second));
  EXPECT_EQ(first, second);  // NOLINT(bugprone-use-after-move): both are empty
  first = "a name longer than any small string optimisation";
  EXPECT_EQ(first, Name(first.str()));
  EXPECT_NE(first, taken);
  first = "learner";
  EXPECT_EQ(first, other);
}

TEST(Name, SharesItsTextBetweenCopies) {
  const Name name("a name longer than any small string optimisation");
  const Name copy = name;
  EXPECT_EQ(copy.view().data(), name.view().data());
}

TEST(Name, HoldsTextsOfEveryLength) {
  for (std::size_t size = 0; size < 3 * Name::kInline; ++size) {
    const std::string text(size, 'x');
    const Name name(text);
    EXPECT_EQ(name.view(), text);
    EXPECT_EQ(name.size(), size);
    EXPECT_EQ(name.empty(), size == 0);
  }
}

TEST(Name, IsComparedWithTextsOfEveryLength) {
  for (std::size_t size = 1; size < 2 * Name::kInline; ++size) {
    std::string text(size, 'x');
    const Name name(text);
    EXPECT_TRUE(name == std::string_view(text));
    EXPECT_FALSE(name == std::string_view(text).substr(1));
    EXPECT_FALSE(name == std::string_view(text + 'x'));
    for (char& letter : text) {
      letter = 'y';
      EXPECT_FALSE(name == std::string_view(text));
      letter = 'x';
    }
  }
}

TEST(Name, IsCopiedAndMovedBetweenAllLengths) {
  const std::string texts[] = {"", "short", std::string(Name::kInline, 'i'),
                               std::string(Name::kInline + 1, 's')};
  for (const std::string& from : texts) {
    for (const std::string& to : texts) {
      Name source(from);
      Name target(to);
      target = source;
      EXPECT_EQ(target.view(), from);
      EXPECT_EQ(source.view(), from);
      Name other(to);
      other = std::move(source);
      EXPECT_EQ(other.view(), from);
      source = to;
      EXPECT_EQ(source.view(), to);
      const Name moved(std::move(other));
      EXPECT_EQ(moved.view(), from);
    }
  }
}

TEST(Name, SurvivesAssignmentToItself) {
  Name name("a name longer than any small string optimisation");
  const Name& same = name;
  name = same;
  EXPECT_EQ(name, "a name longer than any small string optimisation");
}

TEST(Name, IsFoundByATextView) {
  const std::unordered_map<Name, int, NameHash, NameEqual> map{{Name("x"), 1}};
  EXPECT_NE(map.find(std::string_view("x")), map.end());
}

}  // namespace
}  // namespace muster
