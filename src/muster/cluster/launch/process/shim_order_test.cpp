#include "muster/cluster/launch/process/shim_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cluster {
namespace {

using testing::HasSubstr;

Result<ShimOrder> parse(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const auto& word : words) pointers.push_back(word.c_str());
  return ShimOrder::parse(pointers);
}

TEST(ShimOrder, ComesOutOfTheArgumentsAsItWentIn) {
  const ShimOrder order{.folder = "/run/a b=c",
                        .log_bytes = 12,
                        .log_keep = 0,
                        .grace = std::chrono::milliseconds(7),
                        .working_dir = "/tmp",
                        .cgroups = {"/a", "/b"},
                        .watch_fd = 3,
                        .report_fd = 4,
                        .command = {"prog", "--", "x=y", ""}};
  const auto parsed = parse(order.arguments());
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed, order);
}

TEST(ShimOrder, NeedsAProgram) {
  EXPECT_THAT(parse({"grace_ms=1"}).error().message(), HasSubstr("no program"));
  EXPECT_FALSE(parse({"--"}));
  EXPECT_FALSE(parse({}));
}

TEST(ShimOrder, NamesTheArgumentThatIsWrong) {
  for (const char* const word :
       {"grace_ms=-1", "log_bytes=0", "log_keep=x", "colour=blue", "folder=", "watch_fd=3x"}) {
    const auto order = parse({word, "--", "true"});
    ASSERT_FALSE(order) << word;
    EXPECT_THAT(order.error().message(), HasSubstr(word));
  }
}

}  // namespace
}  // namespace muster::cluster
