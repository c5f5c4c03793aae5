#include "muster/base/utf8.h"

#include <string>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Utf8, TakesCharactersOfAllLengths) {
  const std::string text = "aä€😀";
  EXPECT_EQ(utf8_prefix(text), text.size());
  EXPECT_EQ(utf8_prefix(""), 0u);
}

TEST(Utf8, StopsAtWhatIsNone) {
  for (const std::string bad : {"\x92", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                                "\xF4\x90\x80\x80", "\xFF", "\xE2\x82", "\xC3("}) {
    EXPECT_EQ(utf8_prefix("ab" + bad + "c"), 2u);
  }
}

}  // namespace
}  // namespace muster
