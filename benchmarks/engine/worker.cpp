// What a worker costs: bench_worker [tasks] [driver]. A scheduler that only gives orders, and a
// worker in a process of its own.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/comm/discovery/open_store.h"
#include "muster/service/worker/fake_scheduler.h"
#include "muster/service/worker/test_tasks.h"
#include "muster/service/worker/worker_service.h"

namespace {

using namespace muster;
using namespace muster::service;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::shared_ptr<comm::Store> open(const std::string& folder) {
  return std::shared_ptr<comm::Store>(comm::open_store("file:" + folder).value());
}

/// Until the other end of the pipe is closed.
int work(const std::string& folder, const std::string& driver, int until) {
  WorkerOptions options;
  options.name = "worker";
  options.role.store = open(folder);
  options.role.driver = driver;
  options.threads = 2;
  options.store.budget = std::size_t{2} << 30;
  const auto worker = WorkerService::start(options);
  if (!worker) {
    fmt::print(stderr, "{}\n", worker.error().message());
    return 1;
  }
  char nothing = 0;
  (void)!read(until, &nothing, 1);
  (*worker)->stop();
  return 0;
}

void expect(bool happened, const char* what) {
  if (happened) return;
  fmt::print(stderr, "{} did not happen\n", what);
  std::exit(1);
}

/// Processor time of a process so far.
double processor_seconds(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string field;
  double ticks = 0;
  for (int number = 1; file >> field; ++number)
    if (number == 14 || number == 15) ticks += std::atof(field.c_str());
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Tasks per second; `depth` are ordered and not ended at a time.
void rate(FakeScheduler& scheduler, pid_t worker, std::uint32_t tasks, std::uint32_t depth) {
  const TaskBody body = arange(0, 1);
  const std::size_t messages = scheduler.messages();
  scheduler.forget_reports();
  const double before_all = processor_seconds(worker);
  const auto start = Clock::now();
  std::vector<Order> orders;
  std::uint32_t ordered = 0;
  for (std::size_t finished = 0; finished < tasks;) {
    for (; ordered < tasks && ordered < finished + depth; ++ordered)
      orders.emplace_back(run(ordered, body));
    if (!orders.empty()) scheduler.order("worker", std::exchange(orders, {}));
    const std::size_t before = finished;
    expect(scheduler.eventually([&] { return (finished = scheduler.finished()) > before; }),
           "a task");
  }
  const double seconds = seconds_since(start);
  fmt::print(
      "{:8} tasks, {:5} at a time: {:9.0f} per second, {:6.1f} per message, {:5.1f} us of the "
      "worker's processors each\n",
      tasks, depth, tasks / seconds,
      static_cast<double>(tasks) / static_cast<double>(scheduler.messages() - messages),
      (processor_seconds(worker) - before_all) / tasks * 1e6);
  scheduler.order("worker", {CloseOrder{kSession}});
}

/// Bytes per second that kernels write.
void bandwidth(FakeScheduler& scheduler, engine::Index items) {
  constexpr std::uint32_t kTasks = 64;
  for (int round = 0; round < 2; ++round) {
    scheduler.forget_reports();
    const auto start = Clock::now();
    std::vector<Order> orders;
    for (std::uint32_t i = 0; i < kTasks; ++i) orders.emplace_back(run(i, arange(i, items)));
    scheduler.order("worker", std::move(orders));
    expect(scheduler.hears_finished(kTasks), "a result");
    const double gigabytes = static_cast<double>(items) * 8 * kTasks * 1e-9;
    if (round > 0)
      fmt::print("{:8} tasks of {:9} bytes: {:6.2f} GB/s\n", kTasks, items * 8,
                 gigabytes / seconds_since(start));
    scheduler.order("worker", {CloseOrder{kSession}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto tasks = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 200'000);
  const std::string driver = argc > 2 ? argv[2] : "auto";
  const std::string folder = (std::filesystem::temp_directory_path() /
                              fmt::format("muster-bench-{:016x}", secure_random_u64()))
                                 .string();
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    return work(folder, driver, ends[0]);
  }
  close(ends[0]);
  {
    FakeScheduler scheduler(open(folder), driver, 1);
    expect(scheduler.hears_registrations(1), "a registration");
    rate(scheduler, child, 1000, 1);
    rate(scheduler, child, tasks / 10, 8);
    rate(scheduler, child, tasks, 256);
    rate(scheduler, child, tasks, 4096);
    bandwidth(scheduler, 1 << 17);
    bandwidth(scheduler, 1 << 20);
    close(ends[1]);
    waitpid(child, nullptr, 0);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
