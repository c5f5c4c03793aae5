#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <signal.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "muster/base/clock.h"
#include "muster/cli/cli_testing.h"
#include "muster/cli/process/commands.h"
#include "muster/cluster/launch/process/marked_processes.h"
#include "muster/runtime/signals.h"
#include "tests/support/redis_server.h"
#include "tests/support/temp_dir.h"

namespace muster::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The commands against a real agent and a real Redis in a folder of the test's own.
class ProcessCommands : public testing::Test {
 protected:
  void SetUp() override { ::setenv("MUSTER_HOME", home_.path().c_str(), 1); }
  void TearDown() override {
    if (std::filesystem::exists(home_.path() / "clusters/process")) {
      EXPECT_EQ(run_with({"process", "delete"}).status, kDone);
    }
    ::unsetenv("MUSTER_HOME");
  }

  void create() {
    const Outcome outcome = run_with({"process", "create"});
    ASSERT_EQ(outcome.status, kDone) << outcome.err;
  }
  std::string file(const std::string& text, const std::string& name = "job.yml") {
    const auto path = home_.path() / name;
    std::ofstream(path) << text;
    return path.string();
  }
  std::string job(const std::string& name, const std::string& command) {
    return file("mode: process\nname: " + name + "\ncomponents:\n  main:\n    shell: true\n" +
                    "    command: |\n      " + command + "\n",
                name + ".yml");
  }

  test::TempDir home_;
};

TEST_F(ProcessCommands, SayHowToSetItUp) {
  const Outcome outcome = run_with({"process", "job", "list"});
  EXPECT_EQ(outcome.status, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("muster process create"));
}

TEST_F(ProcessCommands, RunAJobToItsEnd) {
  create();
  const Outcome outcome = run_with({"process", "job", "start", "--wait",
                                    job("hello", "echo hi from $COMPONENT_NAME of $JOB_NAME")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("hello: succeeded"), HasSubstr("main")));
  EXPECT_EQ(run_with({"process", "job", "logs", "hello"}).out, "hi from main_0 of hello\n");
  EXPECT_THAT(run_with({"process", "job", "list"}).out,
              AllOf(HasSubstr("hello"), HasSubstr("succeeded")));
  const auto described =
      nlohmann::json::parse(run_with({"process", "job", "describe", "hello", "-o", "json"}).out);
  EXPECT_EQ(described["phase"], "succeeded");
  EXPECT_EQ(described["components"][0]["last"]["exit_code"], 0);
}

TEST_F(ProcessCommands, PassTheExitStatusThroughAndShowTheLastLines) {
  create();
  const Outcome outcome = run_with(
      {"process", "job", "start", "-w", job("bad", "echo first; echo cause of death >&2; exit 7")});
  EXPECT_EQ(outcome.status, 7);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("main_0: exit code 7"), HasSubstr("| cause of death")));
  EXPECT_THAT(run_with({"process", "job", "describe", "bad"}).out,
              AllOf(HasSubstr("exit code 7"), HasSubstr("cause of death")));
}

TEST_F(ProcessCommands, RunInAFolderOfAnyName) {
  const auto home = home_.path() / "it's \"my\" \\place";
  ::setenv("MUSTER_HOME", home.c_str(), 1);
  create();
  EXPECT_EQ(run_with({"process", "job", "start", "-w", job("hello", "echo hi")}).status, kDone);
  EXPECT_EQ(run_with({"process", "job", "logs", "hello"}).out, "hi\n");
  EXPECT_EQ(run_with({"process", "delete"}).status, kDone);
}

TEST_F(ProcessCommands, StopAndDeleteAJob) {
  create();
  const std::string path = job("long", "sleep 1000");
  ASSERT_EQ(run_with({"process", "job", "start", path}).status, kDone);
  EXPECT_THAT(run_with({"process", "job", "start", path}).err, HasSubstr("already"));
  EXPECT_EQ(run_with({"process", "job", "stop", "long"}).status, kDone);
  EXPECT_THAT(run_with({"process", "job", "list"}).out, HasSubstr("stopped"));
  EXPECT_EQ(run_with({"process", "job", "delete", "long"}).status, kDone);
  EXPECT_THAT(run_with({"process", "job", "list"}).out, Not(HasSubstr("long")));
  const auto jobs = home_.path() / "clusters/process/jobs";
  EXPECT_TRUE(!std::filesystem::exists(jobs) || std::filesystem::is_empty(jobs));
  ASSERT_EQ(run_with({"process", "job", "start", path}).status, kDone);
}

TEST_F(ProcessCommands, SuggestNames) {
  create();
  ASSERT_EQ(run_with({"process", "job", "start", job("train", "true")}).status, kDone);
  EXPECT_THAT(run_with({"process", "job", "stop", "trian"}).err,
              HasSubstr("there is no job 'trian'; did you mean 'train'?"));
  EXPECT_THAT(run_with({"process", "job", "logs", "train", "-c", "mian"}).err,
              AllOf(HasSubstr("did you mean 'main'?"), HasSubstr("job 'train' has main")));
}

TEST_F(ProcessCommands, FindJobsByTheirLabels) {
  create();
  const std::string rest = "\ncomponents: {main: {command: 'true'}}\n";
  for (const auto& [name, labels] : {std::pair{"one", "{team: a, size: small}"},
                                     std::pair{"two", "{team: b}"}, std::pair{"three", "{}"}}) {
    const std::string path = file(std::string("name: ") + name + "\nlabels: " + labels + rest);
    ASSERT_EQ(run_with({"process", "job", "start", path, "--wait"}).status, kDone);
  }
  const auto found = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"process", "job", "list", "-o", "json"});
    std::vector<std::string> names;
    for (const auto& job : nlohmann::json::parse(run_with(options).out))
      names.push_back(job["name"]);
    return names;
  };
  EXPECT_THAT(found({}), ElementsAre("one", "two", "three"));
  EXPECT_THAT(found({"--label", "team"}), ElementsAre("one", "two"));
  EXPECT_THAT(found({"--label", "team=b"}), ElementsAre("two"));
  EXPECT_THAT(found({"-l", "team=a", "-l", "size=small"}), ElementsAre("one"));
  EXPECT_THAT(found({"-l", "team=a", "-l", "size=large"}), IsEmpty());
  EXPECT_EQ(run_with({"process", "job", "list", "-l", "=x"}).status, kUsageError);
  EXPECT_THAT(run_with({"process", "job", "describe", "one"}).out,
              HasSubstr("labels     size=small team=a"));
}

TEST_F(ProcessCommands, RunASchedule) {
  create();
  const std::string path = file(
      "mode: process\nname: nightly\njob_names: [one, two]\n"
      "components: {main: {command: 'true'}}\n");
  const Outcome started = run_with({"process", "schedule", "start", path});
  ASSERT_EQ(started.status, kDone) << started.err;
  EXPECT_THAT(run_with({"process", "schedule", "list"}).out,
              AllOf(HasSubstr("nightly"), HasSubstr("one two")));
  EXPECT_EQ(run_with({"process", "job", "logs", "-f", "two"}).status, kDone);
  EXPECT_EQ(run_with({"process", "schedule", "stop", "nightly"}).status, kDone);
  EXPECT_EQ(run_with({"process", "schedule", "stop", "nightly"}).status, kFailed);
}

TEST_F(ProcessCommands, ShowAndChangeSettings) {
  const Outcome bad = run_with({"process", "create", file("paralel_level: 2\n", "s.yml")});
  EXPECT_EQ(bad.status, kFailed);
  EXPECT_THAT(bad.err, HasSubstr("did you mean 'parallel_level'?"));
  ASSERT_EQ(run_with({"process", "create", file("parallel_level: 2\n", "s.yml")}).status, kDone);
  EXPECT_EQ(run_with({"process", "create"}).status, kFailed);
  EXPECT_THAT(run_with({"process", "setting", "show"}).out, HasSubstr("parallel_level"));
  EXPECT_EQ(run_with({"process", "setting", "set", "parallel_level", "5"}).status, kDone);
  const auto settings =
      nlohmann::json::parse(run_with({"process", "setting", "show", "-o", "json"}).out);
  EXPECT_EQ(settings["parallel_level"], "5");
  EXPECT_EQ(run_with({"process", "setting", "set", "redis_mode", "customized"}).status, kFailed);
  EXPECT_THAT(run_with({"process", "status"}).out,
              AllOf(HasSubstr("running (pid"), HasSubstr("0 pending")));
}

TEST_F(ProcessCommands, SetNothingUpWithoutARedis) {
  const std::string path =
      file("redis_mode: customized\nredis_info: {host: 127.0.0.1, port: 1}\n", "s.yml");
  for (int round = 0; round < 2; ++round) {
    const Outcome outcome = run_with({"process", "create", path});
    EXPECT_EQ(outcome.status, kFailed);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("127.0.0.1:1"), Not(HasSubstr("already"))));
  }
  const test::RedisServer other;
  const std::string taken = file(
      "redis_info: {host: 127.0.0.1, port: " + std::to_string(other.address().port) + "}\n", "t");
  EXPECT_THAT(run_with({"process", "create", taken}).err, HasSubstr("taken by another program"));
  EXPECT_FALSE(std::filesystem::exists(home_.path() / "clusters"));
}

TEST_F(ProcessCommands, RefuseANumberOfLinesBelowNone) {
  EXPECT_EQ(run_with({"process", "job", "logs", "j", "--tail", "-1"}).status, kUsageError);
}

TEST_F(ProcessCommands, CutLinesAtTheEdgeOfTheTerminal) {
  create();
  const std::string path = job("hello", "true");
  const std::string out = run_with({"process", "job", "start", "-w", path}, true).out;
  EXPECT_THAT(out, AllOf(HasSubstr("\033[?7l"), testing::EndsWith("\033[?7h")));
}

TEST_F(ProcessCommands, LeaveAJobAloneThatIsNoLongerWatched) {
  create();
  const std::string begun = (home_.path() / "begun").string();
  const std::string path = job("long", "touch " + begun + "; sleep 1000");
  // Blocked from now on, so that it waits for the command however early it comes.
  const auto calm = SignalReader::open({SIGINT});
  ASSERT_TRUE(calm);
  const std::jthread impatient([&] {
    const TimePoint deadline = SteadyClock().now() + std::chrono::seconds(30);
    while (!std::filesystem::exists(begun) && SteadyClock().now() < deadline) ::poll(nullptr, 0, 5);
    ::kill(::getpid(), SIGINT);
  });
  const Outcome outcome = run_with({"process", "job", "start", "-w", path});
  EXPECT_EQ(outcome.status, 130);
  EXPECT_THAT(outcome.err, HasSubstr("'muster process job stop long' ends it"));
  EXPECT_THAT(run_with({"process", "job", "list"}).out, HasSubstr("running"));
}

TEST_F(ProcessCommands, LeaveNoFolderInTheHomeOfTheUser) {
  const char* const before = std::getenv("HOME");
  const std::string home = before != nullptr ? before : "";
  ::unsetenv("MUSTER_HOME");
  ::setenv("HOME", home_.path().c_str(), 1);
  create();
  EXPECT_TRUE(std::filesystem::exists(home_.path() / ".muster"));
  EXPECT_EQ(run_with({"process", "delete"}).status, kDone);
  EXPECT_TRUE(std::filesystem::is_empty(home_.path()));
  ::setenv("HOME", home.c_str(), 1);
}

TEST_F(ProcessCommands, LeaveNothingBehind) {
  create();
  ASSERT_EQ(
      run_with({"process", "job", "start", job("long", "setsid sleep 1000 & sleep 1000")}).status,
      kDone);
  const std::string root = (home_.path() / "clusters/process").string();
  EXPECT_EQ(run_with({"process", "delete"}).status, kDone);
  EXPECT_FALSE(std::filesystem::exists(root));
  EXPECT_THAT(cluster::marked_processes("MUSTER_DISCOVERY=file:" + root), IsEmpty());
  EXPECT_EQ(run_with({"process", "delete"}).status, kFailed);
}

}  // namespace
}  // namespace muster::cli
