#include "muster/cluster/launch/docker/docker_engine.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "muster/cluster/errc.h"

namespace muster::cluster {
namespace {

using testing::HasSubstr;

TEST(DockerEngine, SaysWhyThereIsNone) {
  ::setenv("DOCKER_HOST", "unix:///nowhere/docker.sock", 1);
  const auto engine = DockerEngine::connect();
  ::unsetenv("DOCKER_HOST");
  ASSERT_FALSE(engine);
  EXPECT_TRUE(engine.error().is(Errc::unavailable));
  EXPECT_THAT(engine.error().message(), HasSubstr("/nowhere/docker.sock"));
}

TEST(DockerEngine, DescribesAContainer) {
  const LaunchOrder order{.id = "c/j.a_0/1",
                          .command = {"run", "it"},
                          .environment = {"A=1"},
                          .working_dir = "/w",
                          .limits = {.cpu_milli = 1500, .memory = 1024},
                          .image = "image",
                          .mounts = {{.source = "/s", .target = "/t", .read_only = true}}};
  const auto document = nlohmann::json::parse(container_json(order));
  EXPECT_EQ(document["Image"], "image");
  EXPECT_EQ(document["Cmd"], (nlohmann::json{"run", "it"}));
  EXPECT_EQ(document["HostConfig"]["NanoCpus"], 1'500'000'000);
  EXPECT_EQ(document["HostConfig"]["Memory"], 1024);
  EXPECT_EQ(document["HostConfig"]["Binds"], nlohmann::json{"/s:/t:ro"});
  EXPECT_EQ(document["Labels"]["muster.attempt"], "c/j.a_0/1");
  EXPECT_EQ(document["WorkingDir"], "/w");
}

TEST(DockerLogReader, TakesFramesApartWhereverTheyAreCut) {
  using namespace std::string_literals;
  const std::string frames = "\1\0\0\0\0\0\0\5out1\n\2\0\0\0\0\0\0\4err\n"s;
  for (std::size_t piece = 1; piece <= frames.size(); ++piece) {
    DockerLogReader reader;
    std::string output;
    for (std::size_t at = 0; at < frames.size(); at += piece)
      output += reader.take(std::string_view(frames).substr(at, piece));
    EXPECT_EQ(output, "out1\nerr\n");
  }
}

}  // namespace
}  // namespace muster::cluster
