#include "muster/cluster/job/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cluster {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::string> yaml_complaints(std::string_view text) {
  Problems problems("f");
  const auto value = read_yaml(text, problems);
  EXPECT_TRUE(value || !problems.empty());
  std::vector<std::string> lines;
  for (const SpecProblem& problem : problems.sorted()) lines.push_back(problem.str());
  return lines;
}

Value read(std::string_view text) {
  Problems problems("f");
  auto value = read_yaml(text, problems);
  EXPECT_TRUE(problems.empty()) << problems.sorted().front().str();
  return value ? *value : Value();
}

TEST(Yaml, KnowsTheLineOfEachValue) {
  const Value value = read("a: 1\nb:\n  - x\n  - 'y'\n");
  EXPECT_EQ(value.find("a")->line, 1u);
  const Value& list = value.find("b")->value;
  ASSERT_THAT(list.items, SizeIs(2));
  EXPECT_EQ(list.items[1].line, 4u);
  EXPECT_FALSE(list.items[0].quoted);
  EXPECT_TRUE(list.items[1].quoted);
}

TEST(Yaml, ReplacesAliases) {
  const Value value = read("a: &x {k: 1}\nb: *x\n");
  EXPECT_EQ(value.find("b")->value.find("k")->value.text, "1");
}

TEST(Yaml, MergesMapsWithoutOverwriting) {
  const Value value = read("a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  k: 3\n");
  const Value& merged = value.find("b")->value;
  EXPECT_EQ(merged.find("k")->value.text, "3");
  EXPECT_EQ(merged.find("l")->value.text, "2");
  EXPECT_THAT(yaml_complaints("b: {<<: 3}"), ElementsAre(HasSubstr("'<<' takes a map")));
}

TEST(Yaml, RefusesAKeyThatComesTwice) {
  EXPECT_THAT(yaml_complaints("a: 1\nb: 2\na: 3\n"),
              ElementsAre("f:3: key 'a' comes twice; the first is in line 1"));
}

TEST(Yaml, GivesWhatCanBeCheckedFurther) {
  Problems problems("f");
  const auto value = read_yaml("a: 1\n? [b]\n: 2\na: 3\nc: 4\n", problems);
  EXPECT_THAT(problems.sorted(), SizeIs(2));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->find("a")->value.text, "1");
  EXPECT_EQ(value->find("c")->value.text, "4");
}

TEST(Yaml, RefusesWhatIsNotYaml) {
  EXPECT_THAT(yaml_complaints("a: [1\nb: 2"), ElementsAre(HasSubstr("not YAML")));
  EXPECT_THAT(yaml_complaints("\tx: 1"), SizeIs(1));
  EXPECT_THAT(yaml_complaints(""), ElementsAre(HasSubstr("empty")));
  EXPECT_THAT(yaml_complaints("a: 1\nb: \x92"), ElementsAre("f:2: the text is not UTF-8"));
  EXPECT_THAT(yaml_complaints("a: 1\n---\nb: 2"), ElementsAre(HasSubstr("more than one document")));
  EXPECT_THAT(yaml_complaints("a: !python/object x"), ElementsAre(HasSubstr("tags")));
  EXPECT_THAT(yaml_complaints("? [a]\n: 1"), ElementsAre(HasSubstr("a key has to be a text")));
}

TEST(Yaml, TellsEachProblemInOneLine) {
  for (const char* text : {"a: *b\x07"
                           "c",
                           "\"a\\nb\": 1\n\"a\\nb\": 2"}) {
    ASSERT_THAT(yaml_complaints(text), SizeIs(1));
    EXPECT_EQ(yaml_complaints(text)[0].find_first_of("\n\x07"), std::string::npos);
  }
}

TEST(Yaml, LimitsWhatAliasesMultiply) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 20; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += "*a" + std::to_string(i - 1) + ",";
    bomb += "]\n";
  }
  EXPECT_THAT(yaml_complaints(bomb), ElementsAre(HasSubstr("more than 50000 values")));
}

TEST(Yaml, RefusesAnAliasOfWhatItStandsIn) {
  EXPECT_THAT(yaml_complaints("a: &x [*x]"), ElementsAre(HasSubstr("what it stands in")));
}

TEST(Yaml, LimitsDepth) {
  EXPECT_THAT(yaml_complaints(std::string(100'000, '[')), ElementsAre(HasSubstr("32 deep")));
  EXPECT_THAT(yaml_complaints(std::string(100'000, '{')), SizeIs(1));
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(yaml_complaints(text), ElementsAre(HasSubstr("32 deep")));
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i) {
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
             "]\n";
  }
  EXPECT_THAT(yaml_complaints(chain), ElementsAre(HasSubstr("32 deep")));
}

TEST(Yaml, SaysThatATabCannotIndent) {
  EXPECT_THAT(yaml_complaints("a: 1\nb:\n\tc:\n\t\td: 1\n"),
              ElementsAre(AllOf(HasSubstr("3"), HasSubstr("use spaces"))));
  EXPECT_THAT(yaml_complaints("a: [\n"), ElementsAre(HasSubstr("not YAML")));
}

TEST(Yaml, LimitsSize) {
  EXPECT_THAT(yaml_complaints(std::string(kMaxSpecBytes + 1, ' ')),
              ElementsAre(HasSubstr("larger")));
}

TEST(Yaml, StaysQuickWithVeryManyKeys) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(read(text).members, SizeIs(20'000));
}

TEST(Json, ReadsTheSameValues) {
  Problems problems("");
  const auto value = read_json(R"({"a": [1, 2.5, true, null, "x"], "b": {}})", problems);
  ASSERT_TRUE(value);
  const auto& items = value->find("a")->value.items;
  EXPECT_EQ(items[0].text, "1");
  EXPECT_EQ(items[1].text, "2.5");
  EXPECT_EQ(items[2].text, "true");
  EXPECT_EQ(items[3].kind, Value::Kind::null);
  EXPECT_TRUE(items[4].quoted);
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "nul", "1 2"}) {
    Problems problems("");
    EXPECT_FALSE(read_json(text, problems)) << text;
    EXPECT_FALSE(problems.empty()) << text;
  }
  Problems problems("");
  EXPECT_FALSE(read_json(std::string(100'000, '['), problems));
}

}  // namespace
}  // namespace muster::cluster
