#include "muster/cluster/job/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cluster/errc.h"

namespace muster::cluster {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

std::string complaint(std::string_view line) {
  const auto words = split_command(line);
  EXPECT_FALSE(words) << line;
  if (words) return "";
  EXPECT_TRUE(words.error().is(Errc::invalid_spec));
  return words.error().message();
}

TEST(SplitCommand, SeparatesAtBlanks) {
  EXPECT_EQ(split_command("  python  /target/run.py\t--n 5\n"),
            (Words{"python", "/target/run.py", "--n", "5"}));
  EXPECT_EQ(split_command(""), Words{});
}

TEST(SplitCommand, KeepsTogetherWhatIsQuoted) {
  EXPECT_EQ(split_command(R"(a 'b c' "d e" f\ g)"), (Words{"a", "b c", "d e", "f g"}));
  EXPECT_EQ(split_command(R"(a'b c'"d e")"), (Words{"ab cd e"}));
  EXPECT_EQ(split_command(R"(a '' "")"), (Words{"a", "", ""}));
}

TEST(SplitCommand, TakesBackslashesInDoubleQuotesAsAShellDoes) {
  EXPECT_EQ(split_command(R"("\"\\\$\`" "\n")"), (Words{R"("\$`)", R"(\n)"}));
  EXPECT_EQ(split_command("a \\\n b \"c\\\nd\""), (Words{"a", "b", "cd"}));
}

TEST(SplitCommand, TakesPatternsAsTheyAre) {
  EXPECT_EQ(split_command("x *.py a?b [0.1,0.2] a~ --k=v"),
            (Words{"x", "*.py", "a?b", "[0.1,0.2]", "a~", "--k=v"}));
}

TEST(SplitCommand, RefusesWhatOnlyAShellWouldDo) {
  for (const char* line : {"a | b", "a && b", "a; b", "a > f", "a < f", "a $HOME", "a \"$HOME\"",
                           "a `b`", "(a)", "~/a", "a ~"}) {
    EXPECT_THAT(complaint(line), HasSubstr("shell: true")) << line;
  }
  EXPECT_EQ(split_command("a '$HOME' \\| '~'"), (Words{"a", "$HOME", "|", "~"}));
}

TEST(SplitCommand, SendsVariablesBeforeTheProgramToEnv) {
  EXPECT_THAT(complaint("SEED=1 python x.py"), HasSubstr("'SEED=…' before the program"));
  EXPECT_EQ(split_command("python SEED=1"), (Words{"python", "SEED=1"}));
}

TEST(SplitCommand, RefusesAnOpenQuote) {
  EXPECT_THAT(complaint("a 'b"), HasSubstr("not closed"));
  EXPECT_THAT(complaint("a \"b"), HasSubstr("not closed"));
  EXPECT_THAT(complaint("a \\"), HasSubstr("backslash"));
}

}  // namespace
}  // namespace muster::cluster
