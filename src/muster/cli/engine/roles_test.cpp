#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cli/cli_testing.h"
#include "muster/cli/engine/environment.h"
#include "muster/cli/engine/worker_options.h"
#include "muster/cli/failure.h"
#include "muster/comm/discovery/served/store_server.h"
#include "muster/service/worker/fake_scheduler.h"

namespace muster::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kRoles[] = {"scheduler", "worker", "web", "local-cluster"};

TEST(Roles, ExplainThemselves) {
  for (const char* const role : kRoles) {
    const Outcome outcome = run_with({role, "--help"});
    EXPECT_EQ(outcome.status, kDone) << role;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("Examples:"), HasSubstr("--insecure"))) << role;
  }
}

TEST(Roles, AreAlsoCalledByTheNamesOfThePredecessor) {
  for (const char* const role : {"scheduler", "worker", "web"}) {
    const std::string program = std::string("/usr/bin/mars-") + role;
    const Outcome outcome = run_with({"--help"}, false, program.c_str());
    EXPECT_EQ(outcome.status, kDone);
    EXPECT_THAT(outcome.out, HasSubstr(std::string("muster ") + role));
  }
  EXPECT_THAT(run_with({"--help"}, false, "mars-doctor").out, HasSubstr("doctor"));
}

TEST(Roles, AskForTheSchedulerThatIsMissing) {
  for (const char* const role : {"worker", "web"}) {
    const Outcome outcome = run_with({role, "-p", "0"});
    EXPECT_EQ(outcome.status, kUsageError);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("-s HOST:PORT"), HasSubstr("muster scheduler")));
  }
}

TEST(Roles, RefuseWhatIsNoAddressOrPort) {
  EXPECT_THAT(run_with({"worker", "-s", "nowhere"}).err, HasSubstr("'nowhere' is not HOST:PORT"));
  EXPECT_THAT(run_with({"worker", "-s", "h:1,h:0"}).err, HasSubstr("'h:0'"));
  EXPECT_THAT(run_with({"worker", "-s", "http://h:1"}).err, HasSubstr("http://h:1"));
  EXPECT_THAT(run_with({"scheduler", "-p", "65536"}).err, HasSubstr("'65536' is not a port"));
  EXPECT_THAT(run_with({"scheduler", "-a", "no such host"}).err, HasSubstr("'no such host'"));
  EXPECT_THAT(run_with({"scheduler", "--lease", "1ms"}).err, HasSubstr("--lease"));
}

TEST(Roles, RefuseSizesThatAreNone) {
  EXPECT_THAT(run_with({"worker", "-s", "h:1", "--memory", "lots"}).err, HasSubstr("--memory"));
  EXPECT_THAT(run_with({"worker", "-s", "h:1", "--cache", "-1"}).err, HasSubstr("--cache"));
  EXPECT_THAT(run_with({"local-cluster", "-n", "1", "--memory", "x"}).err, HasSubstr("'x'"));
  EXPECT_THAT(run_with({"worker", "-s", "h:1", "--python-memory", "x"}).err,
              HasSubstr("--python-memory"));
  EXPECT_THAT(run_with({"worker", "-s", "h:1", "--python-memory", "1m"}).err, HasSubstr("128 MiB"));
  EXPECT_THAT(run_with({"worker", "-s", "h:1", "--python-idle", "soon"}).err,
              HasSubstr("--python-idle"));
  EXPECT_EQ(run_with({"local-cluster", "-n", "0"}).status, kUsageError);
}

TEST(Roles, RefuseHalfATlsIdentity) {
  EXPECT_THAT(run_with({"web", "-s", "h:1", "--tls-key", "k"}).err, HasSubstr("belong together"));
}

TEST(Roles, NeedASecretBeyondThisHost) {
  ::unsetenv("MUSTER_SECRET");
  const Outcome outcome = run_with({"scheduler", "-a", "0.0.0.0", "-p", "0"});
  EXPECT_EQ(outcome.status, kFailed);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("MUSTER_SECRET"), HasSubstr("--insecure")));
}

TEST(Roles, AWorkerThatASchedulerOfAnotherVersionRefusesEndsAndSaysWhy) {
  auto store = comm::StoreServer::start({});
  ASSERT_TRUE(store) << store.error().message();
  service::FakeScheduler scheduler((*store)->local_store(), "auto", 1);
  scheduler.refuse({service::kOtherVersion, {{"error", "Muster 1 is not Muster 2"}}, {}});
  const std::string place = "127.0.0.1:" + std::to_string((*store)->port());
  const Outcome outcome = run_with({"worker", "-s", place, "--memory", "64m"});
  EXPECT_EQ(outcome.status, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("out of the cluster: Muster 1 is not Muster 2"));
}

TEST(WorkerOptions, LimitProcessesOfFunctions) {
  WorkerFlags flags;
  flags.role.schedulers = "h:1";
  EXPECT_EQ(worker_options(flags, {}).python_idle, std::chrono::minutes(10));
  EXPECT_EQ(worker_options(flags, {}).python_memory, 0u);
  flags.python_processes = 3;
  flags.python_memory = "2g";
  flags.python_idle = "30s";
  const auto options = worker_options(flags, {});
  EXPECT_EQ(options.python_processes, 3u);
  EXPECT_EQ(options.python_memory, std::size_t{2} << 30);
  EXPECT_EQ(options.python_idle, std::chrono::seconds(30));
  flags.python_idle = "0";
  EXPECT_EQ(worker_options(flags, {}).python_idle, Duration::zero());
}

TEST(WorkerOptions, FlagsWinOverTheEnvironment) {
  WorkerFlags flags;
  flags.role.schedulers = "h:1";
  flags.cache = "64m";
  flags.spill_dirs = {"/x:/y", "/z"};
  RoleEnvironment environment;
  environment.schedulers = "other:2";
  environment.host = "127.0.0.1";
  environment.port = 11111;
  environment.cpus = 3;
  environment.memory = 1ull << 30;
  environment.cache.percentage = 10;
  environment.spill_dirs = {"/a"};
  environment.lock_free_io = true;
  environment.name = "pod-0";
  const auto options = worker_options(flags, environment);
  EXPECT_EQ(options.role.scheduler, "h:1");
  EXPECT_EQ(options.role.port, 11111);
  EXPECT_EQ(options.threads, 3u);
  EXPECT_EQ(options.name, "pod-0");
  EXPECT_EQ(options.store.budget, 64u << 20);
  EXPECT_THAT(options.store.spill.directories, ElementsAre("/x", "/y", "/z"));
  EXPECT_TRUE(options.store.spill.lock_free_file_io);
}

TEST(WorkerOptions, AShareOfTheCacheIsOfTheWorkersMemory) {
  WorkerFlags flags;
  flags.role.schedulers = "h:1";
  flags.memory = "1g";
  flags.cache = "25%";
  EXPECT_EQ(worker_options(flags, {}).store.budget, 256u << 20);
  flags.cache = "200m";
  flags.memory = "100m";
  EXPECT_THROW((void)worker_options(flags, {}), UsageError);
}

TEST(EngineCommands, AskWhichCluster) {
  for (const char* const command : {"status", "workers", "sessions", "tasks"}) {
    const Outcome outcome = run_with({"engine", command});
    EXPECT_EQ(outcome.status, kUsageError) << command;
    EXPECT_THAT(outcome.err, HasSubstr("-u URL"));
  }
}

TEST(EngineCommands, SayThatNobodyIsThere) {
  const Outcome outcome = run_with({"engine", "status", "-u", "http://127.0.0.1:1"});
  EXPECT_EQ(outcome.status, kFailed);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("127.0.0.1:1"), HasSubstr("muster web")));
}

}  // namespace
}  // namespace muster::cli
