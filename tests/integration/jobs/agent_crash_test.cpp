#include <chrono>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cluster/launch/process/marked_processes.h"
#include "tests/integration/jobs/storm.h"
#include "tests/support/redis_server.h"
#include "tests/support/seed.h"

namespace muster::test {
namespace {

using cluster::JobPhase;
using std::chrono::milliseconds;
using std::chrono::seconds;

template <class Condition>
bool eventually(const Condition& condition) {
  const TimePoint deadline = SteadyClock().now() + seconds(30);
  while (SteadyClock().now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return condition();
}

TEST(AgentCrash, LosesNoJobAndStartsNoneTwice) { Storm({.seed = test_seed(), .jobs = 40}).run(); }

TEST(AgentCrash, MendsWhatIsKilledOfTheJobsThemselves) {
  Storm({.seed = test_seed() + 1, .jobs = 25, .kill_components = true}).run();
}

class Agent : public testing::Test {
 protected:
  // A component that says so when it runs, and ends when it is told to.
  std::string waiting_script() const {
    return fmt::format("echo $$ >> {}; while [ ! -e {} ]; do sleep 0.01; done; exit 0", path("pid"),
                       path("go"));
  }
  std::string path(const std::string& name) const { return (home_.scratch() / name).string(); }
  std::size_t lines(const std::string& name) const {
    std::ifstream file(path(name));
    std::size_t count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }
  void go() const { std::ofstream(path("go")) << "go"; }

  ProcessHome home_;
};

TEST_F(Agent, AdoptsWhatStillRuns) {
  ASSERT_TRUE(home_.mode().start(shell_job("j", waiting_script(), 2)));
  ASSERT_TRUE(eventually([&] { return lines("pid") == 2; }));
  home_.kill_agent();
  home_.kill_redis();
  go();
  EXPECT_EQ(home_.await("j").phase, JobPhase::succeeded);
  EXPECT_EQ(lines("pid"), 2u);
}

TEST_F(Agent, KnowsHowThingsEndedWhileItWasAway) {
  ASSERT_TRUE(
      home_.mode().start(shell_job("j", fmt::format("echo $$ >> {}; exit 5", path("pid")))));
  ASSERT_TRUE(eventually([&] { return lines("pid") == 1; }));
  home_.kill_supervisor_and_agent();
  const auto job = home_.await("j");
  EXPECT_EQ(job.phase, JobPhase::failed);
  EXPECT_EQ(job.failure->exit_code, 5);
  EXPECT_EQ(lines("pid"), 1u);
}

TEST_F(Agent, StopsWhatAnEarlierOneStarted) {
  ASSERT_TRUE(home_.mode().start(shell_job("j", waiting_script())));
  ASSERT_TRUE(eventually([&] { return lines("pid") == 1; }));
  home_.kill_agent();
  ASSERT_TRUE(home_.mode().stop("j"));
  EXPECT_EQ(home_.await("j").phase, JobPhase::stopped);
  EXPECT_TRUE(cluster::marked_processes(home_.mark()).empty());
}

TEST_F(Agent, RestartsByThePolicyAfterACrash) {
  auto spec = shell_job("j", fmt::format("echo x >> {}; [ $(wc -l < {}) -ge 3 ] || exit 1",
                                         path("pid"), path("pid")));
  spec.components[0].restart = {
      .policy = cluster::RestartPolicy::on_failure, .max = 5, .backoff = milliseconds(100)};
  ASSERT_TRUE(home_.mode().start(spec));
  ASSERT_TRUE(eventually([&] { return lines("pid") == 1; }));
  home_.kill_agent();
  const auto job = home_.await("j");
  EXPECT_EQ(job.phase, JobPhase::succeeded);
  EXPECT_EQ(job.instances[0].restarts, 2u);
  EXPECT_EQ(lines("pid"), 3u);
}

TEST_F(Agent, ReportsAShimThatWasKilledAndLeavesNothingOfIt) {
  ASSERT_TRUE(home_.mode().start(shell_job("j", "setsid sleep 1000 & " + waiting_script())));
  ASSERT_TRUE(eventually([&] { return lines("pid") == 1; }));
  const auto job = home_.mode().job("j");
  ASSERT_TRUE(job);
  std::ifstream claim(home_.layout().attempt(job->id, "main_0", 1) + "/claim");
  std::string word;
  pid_t shim = 0;
  ASSERT_TRUE(claim >> word >> shim);
  ::kill(shim, SIGKILL);
  const auto ended = home_.await("j");
  EXPECT_EQ(ended.phase, JobPhase::failed);
  EXPECT_THAT(ended.failure->what, testing::HasSubstr("watched over it"));
  EXPECT_TRUE(cluster::marked_processes(home_.mark()).empty());
}

TEST_F(Agent, LetsPeersFindEachOtherInAFolderOfTheJob) {
  ASSERT_TRUE(home_.mode().start(
      shell_job("j", fmt::format("echo $MUSTER_DISCOVERY $MUSTER_PEERS > {}", path("pid")))));
  const auto job = home_.await("j");
  std::ifstream file(path("pid"));
  std::string discovery;
  std::string peers;
  file >> discovery >> peers;
  EXPECT_EQ(discovery, "file:" + home_.layout().discovery(job.id));
  EXPECT_EQ(peers, "main:1");
}

TEST(AgentLife, EndsWhenItIsIdleAndNeedNotStay) {
  ProcessHome home(
      {.keep_agent_alive = false, .agent_countdown = 2, .check_interval = milliseconds(50)});
  ASSERT_TRUE(home.mode().start(shell_job("j", "true")));
  EXPECT_EQ(home.await("j").phase, JobPhase::succeeded);
  EXPECT_TRUE(eventually([&] { return !cluster::find_agent(home.layout()); }));
  // And comes back when it is needed, with all it knew.
  EXPECT_EQ(home.await("j").phase, JobPhase::succeeded);
}

TEST(AgentLife, ComesBackWhenItsSupervisorWasKilledBefore) {
  ProcessHome home;
  // Twice: the second supervisor is one that the agent has started.
  for (int round = 0; round < 2; ++round) {
    const auto agent = cluster::find_agent(home.layout());
    ASSERT_TRUE(agent);
    const std::string log = home.layout().agent_log();
    const auto said = [&] {
      std::ifstream file(log);
      std::size_t count = 0;
      for (std::string line; std::getline(file, line);)
        count += line.find("the supervisor is gone") != std::string::npos ? 1 : 0;
      return count;
    };
    ASSERT_GT(home.supervisor(), 1);
    ::kill(home.supervisor(), SIGKILL);
    ASSERT_TRUE(eventually([&] { return said() == static_cast<std::size_t>(round) + 1; }));
    ::kill(agent->pid, SIGKILL);
    // Nobody asks for it meanwhile.
    EXPECT_TRUE(eventually([&] {
      const auto next = cluster::find_agent(home.layout());
      return next && next->ready && next->pid != agent->pid;
    }));
  }
  ASSERT_TRUE(home.mode().start(shell_job("j", "true")));
  EXPECT_EQ(home.await("j").phase, JobPhase::succeeded);
}

TEST(AgentLife, UsesTheUsersRedisAndRemovesNothingButItsOwnKeys) {
  const RedisServer server({.password = "word"});
  net::RedisClient client(server.address(), seconds(5));
  ASSERT_TRUE(client.command({"SET", "theirs", "1"}));
  {
    ProcessHome home({.own_redis = false,
                      .redis_host = "127.0.0.1",
                      .redis_port = server.address().port,
                      .redis_password = "word"});
    ASSERT_TRUE(home.mode().start(shell_job("j", "true")));
    EXPECT_EQ(home.await("j").phase, JobPhase::succeeded);
    EXPECT_GT(client.command({"DBSIZE"})->integer, 1);
  }
  EXPECT_EQ(client.command({"DBSIZE"})->integer, 1);
}

}  // namespace
}  // namespace muster::test
