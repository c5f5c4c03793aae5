#include "tests/integration/jobs/storm.h"

#include <chrono>
#include <fstream>
#include <iostream>
#include <signal.h>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/cluster/launch/process/claim.h"
#include "muster/cluster/launch/process/exit_record.h"
#include "muster/cluster/launch/process/marked_processes.h"

namespace muster::test {
namespace {

using std::chrono::milliseconds;

std::string job_name(int number) { return fmt::format("job{}", number); }

}  // namespace

Storm::Storm(const StormOptions& options)
    : options_(options),
      random_(options.seed),
      home_({.parallel_level = options.parallel_level, .check_interval = std::chrono::seconds(5)}) {
  std::cout << "storm seed " << options_.seed << "\n";
}

void Storm::run() {
  for (int number = 0; number < options_.jobs; ++number) {
    submit(number);
    if (random_.chance(0.15)) strike();
    if (options_.kill_components && random_.chance(0.05)) kill_a_component();
  }
  for (int number = 0; number < options_.jobs; ++number) {
    const cluster::JobState job = home_.await(job_name(number));
    EXPECT_EQ(job.phase, cluster::JobPhase::succeeded)
        << job_name(number) << ": " << (job.failure ? job.failure->what : "");
    if (testing::Test::HasFailure()) return;
    if (number % 8 == 0 && random_.chance(0.3)) strike();
  }
  audit();
}

void Storm::submit(int number) {
  const std::string log = (home_.scratch() / "account").string();
  const auto milliseconds_long = random_.below(60);
  // One short write to a file opened for appending is never torn.
  cluster::JobSpec spec = shell_job(
      job_name(number),
      fmt::format("echo begin $COMPONENT_ID >> {}; sleep 0.{:03}; echo end $COMPONENT_ID >> {}",
                  log, milliseconds_long, log),
      1 + static_cast<std::uint32_t>(random_.below(3)));
  if (options_.kill_components) {
    spec.components[0].restart = {
        .policy = cluster::RestartPolicy::on_failure, .max = 100, .backoff = milliseconds(5)};
  }
  // Redis may just be away: whoever submits tries again.
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto id = home_.mode().start(spec);
    if (id) return;
    std::this_thread::sleep_for(milliseconds(50));
    if (const auto known = home_.mode().job(spec.name)) return;
  }
  FAIL() << job_name(number) << " cannot be submitted";
}

void Storm::strike() {
  ++strikes_;
  std::this_thread::sleep_for(milliseconds(random_.below(20)));
  switch (random_.below(4)) {
    case 0: return home_.kill_redis();
    case 1: return home_.kill_agent();
    case 2: home_.kill_redis(); return home_.kill_agent();
    default: return home_.kill_supervisor_and_agent();
  }
}

void Storm::kill_a_component() {
  const auto processes = cluster::marked_processes(home_.mark());
  if (!processes.empty()) ::kill(processes[random_.below(processes.size())], SIGKILL);
}

std::map<std::string, int> Storm::account(const std::string& what) const {
  std::ifstream file(home_.scratch() / "account");
  std::map<std::string, int> counts;
  for (std::string verb, id; file >> verb >> id;) {
    if (verb == what) ++counts[id];
  }
  return counts;
}

void Storm::audit() {
  const auto jobs = home_.mode().jobs();
  ASSERT_TRUE(jobs) << jobs.error().message();
  EXPECT_EQ(jobs->size(), static_cast<std::size_t>(options_.jobs));
  const auto begins = account("begin");
  const auto ends = account("end");
  std::size_t instances = 0;
  for (const auto& job : *jobs) {
    for (const auto& instance : job.instances) {
      ++instances;
      const std::string id = job.id + "." + instance.name();
      const auto count = [&](const auto& counts) {
        return counts.contains(id) ? counts.at(id) : 0;
      };
      EXPECT_GE(count(ends), 1) << id;
      if (options_.kill_components) continue;
      EXPECT_EQ(count(begins), 1) << id << " was started more than once";
      const std::string folder = home_.layout().attempt(job.id, instance.name(), instance.attempt);
      EXPECT_TRUE(cluster::read_exit_record(folder)) << folder;
      EXPECT_FALSE(cluster::read_claim(folder)->held) << folder;
    }
  }
  EXPECT_TRUE(cluster::marked_processes(home_.mark()).empty());
  std::cout << fmt::format("{} jobs, {} instances, {} strikes\n", jobs->size(), instances,
                           strikes_);
}

}  // namespace muster::test
