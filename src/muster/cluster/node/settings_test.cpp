#include "muster/cluster/node/settings.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cluster/errc.h"
#include "tests/support/temp_dir.h"

namespace muster::cluster {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Settings, TakesThePredecessorsFile) {
  const auto settings = read_settings(
      "redis_info:\n  host: \"localhost\"\n  port: 19999\nredis_mode: MARO\nparallel_level: 3\n"
      "keep_agent_alive: 0\nagent_countdown: 7\ncheck_interval: 60\n",
      "s.yml");
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_TRUE(settings->own_redis);
  EXPECT_EQ(settings->redis_port, 19999);
  EXPECT_EQ(settings->parallel_level, 3u);
  EXPECT_FALSE(settings->keep_agent_alive);
  EXPECT_EQ(settings->agent_countdown, 7u);
  EXPECT_EQ(settings->check_interval, std::chrono::seconds(60));
}

TEST(Settings, HasDefaultsForAll) {
  EXPECT_EQ(read_settings("", "s.yml").value(), ProcessSettings());
  EXPECT_EQ(read_settings("# parallel_level: 3\n\n", "s.yml").value(), ProcessSettings());
  EXPECT_FALSE(read_settings("[1]", "s.yml"));
}

TEST(Settings, TellsAllProblemsAtOnce) {
  const auto settings =
      read_settings("paralel_level: 3\nredis_info: {port: x}\ncheck_interval: [1]\n", "s.yml");
  ASSERT_FALSE(settings);
  EXPECT_TRUE(settings.error().is(Errc::invalid_spec));
  EXPECT_THAT(settings.error().message(),
              AllOf(HasSubstr("s.yml:1: paralel_level: unknown setting; did you mean "
                              "'parallel_level'?"),
                    HasSubstr("redis_info.port: 'x' is not a whole number"),
                    HasSubstr("check_interval: a list is not possible")));
}

TEST(Settings, RefusesAServerOfOursElsewhere) {
  EXPECT_THAT(read_settings("redis_info: {host: far.away}\n", "s").error().message(),
              HasSubstr("customized"));
}

TEST(Settings, ChangesOne) {
  EXPECT_EQ(with_setting({}, "parallel_level", "9")->parallel_level, 9u);
  EXPECT_FALSE(with_setting({}, "parallel_level", "0"));
  EXPECT_FALSE(with_setting({}, "cluster_id", "x"));
}

TEST(Settings, AreStored) {
  const test::TempDir folder;
  const ClusterLayout layout{.root = folder.path().string()};
  EXPECT_TRUE(load_settings(layout).error().is(Errc::not_running));
  ProcessSettings settings{.cluster_id = "x", .redis_password = "secret", .parallel_level = 4};
  ASSERT_TRUE(save_settings(layout, settings));
  EXPECT_EQ(load_settings(layout).value(), settings);
  const auto mode = std::filesystem::status(layout.settings()).permissions();
  EXPECT_EQ(mode & std::filesystem::perms(077), std::filesystem::perms::none);
}

}  // namespace
}  // namespace muster::cluster
