#include "tests/support/process_home.h"

#include <chrono>
#include <fstream>
#include <signal.h>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/base/clock.h"
#include "muster/cluster/launch/process/marked_processes.h"

namespace muster::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

pid_t parent_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  }
  return 0;
}

}  // namespace

ProcessHome::ProcessHome(cluster::ProcessSettings settings)
    : layout_{.root = (home_.path() / "process").string()} {
  if (const auto made = cluster::ProcessMode::create(layout_, std::move(settings)); !made)
    throw std::runtime_error(made.error().message());
  auto mode = cluster::ProcessMode::open(layout_);
  if (!mode) throw std::runtime_error(mode.error().message());
  mode_ = std::make_unique<cluster::ProcessMode>(std::move(*mode));
}

ProcessHome::~ProcessHome() {
  const auto deleted = cluster::delete_process_mode(layout_);
  EXPECT_TRUE(deleted) << deleted.error().message();
  const std::string& id = mode_->settings().cluster_id;
  for (const std::string& left : {"MUSTER_REDIS=" + id, mark()})
    EXPECT_TRUE(cluster::marked_processes(left).empty()) << left;
}

std::string ProcessHome::mark() const {
  return fmt::format("MUSTER_ATTEMPT={}/", mode_->settings().cluster_id);
}

void ProcessHome::kill_agent() const {
  const auto agent = cluster::find_agent(layout_);
  if (agent && agent->pid > 0) ::kill(agent->pid, SIGKILL);
}

pid_t ProcessHome::supervisor() const {
  const auto agent = cluster::find_agent(layout_);
  return agent && agent->pid > 0 ? parent_of(agent->pid) : 0;
}

void ProcessHome::kill_supervisor_and_agent() const {
  const auto agent = cluster::find_agent(layout_);
  if (!agent || agent->pid <= 0) return;
  const pid_t supervisor = parent_of(agent->pid);
  if (supervisor > 1 && supervisor != ::getpid()) ::kill(supervisor, SIGKILL);
  ::kill(agent->pid, SIGKILL);
}

void ProcessHome::kill_redis() const {
  const std::string mark = "MUSTER_REDIS=" + mode_->settings().cluster_id;
  for (const pid_t pid : cluster::marked_processes(mark)) ::kill(pid, SIGKILL);
}

cluster::JobState ProcessHome::await(const std::string& name) {
  const TimePoint deadline = SteadyClock().now() + seconds(60);
  std::string trouble;
  while (SteadyClock().now() < deadline) {
    auto job = mode_->job(name);
    if (job && job->final()) return std::move(*job);
    trouble = job ? std::string(name_of(job->phase)) : job.error().message();
    mode_->wait_for_change(milliseconds(50));
  }
  ADD_FAILURE() << "job '" << name << "' does not end: " << trouble;
  return {};
}

cluster::JobSpec shell_job(std::string name, std::string script, std::uint32_t instances) {
  cluster::JobSpec job;
  job.name = std::move(name);
  cluster::ComponentSpec component;
  component.name = "main";
  component.num = instances;
  component.command = {std::move(script)};
  component.shell = true;
  job.components.push_back(std::move(component));
  return job;
}

}  // namespace muster::test
