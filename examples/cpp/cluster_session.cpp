// Lazy arrays on a cluster: the same expressions as in one process, computed by workers. Give the
// address of a web role; without one, the example runs a small cluster inside this process.

#include "muster/service/client/cluster_session.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/service/scheduler/scheduler_service.h"
#include "muster/service/web/web_service.h"
#include "muster/service/worker/worker_service.h"
#include "muster/tensor.h"

using namespace muster::tensor;
using namespace muster::service;

template <class T>
T value_or_throw(muster::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return *std::move(result);
}

/// The three roles, as `muster local-cluster` starts them in processes of their own.
class SmallCluster {
 public:
  SmallCluster() {
    SchedulerOptions scheduler;
    scheduler.journal_dir = journal_.string();
    scheduler_ = value_or_throw(SchedulerService::start(scheduler));
    RoleOptions role;
    role.scheduler = fmt::format("127.0.0.1:{}", scheduler_->port());
    for (const char* name : {"first", "second"}) {
      WorkerOptions worker;
      worker.role = role;
      worker.name = name;
      worker.threads = 1;
      worker.store.budget = std::size_t{256} << 20;
      workers_.push_back(value_or_throw(WorkerService::start(worker)));
    }
    WebOptions web;
    web.role = role;
    web_ = value_or_throw(WebService::start(web));
  }
  ~SmallCluster() {
    web_.reset();
    workers_.clear();
    scheduler_.reset();
    std::filesystem::remove_all(journal_);
  }
  SmallCluster(const SmallCluster&) = delete;
  SmallCluster& operator=(const SmallCluster&) = delete;
  [[nodiscard]] std::string url() const { return web_->url(); }

 private:
  std::filesystem::path journal_ =
      std::filesystem::temp_directory_path() /
      fmt::format("muster-example-{:016x}", muster::secure_random_u64());
  std::unique_ptr<SchedulerService> scheduler_;
  std::vector<std::unique_ptr<WorkerService>> workers_;
  std::unique_ptr<WebService> web_;
};

// region session
/// The sum of sines of a million numbers, computed on the cluster.
double sum_of_sines(const std::string& url) {
  // The token is found by itself where the web role is this user's; else it is given here, or in
  // MUSTER_TOKEN.
  const auto session = value_or_throw(ClusterSession::open(url));
  const Tensor x = linspace(0.0, 100.0, 1'000'000);
  const Tensor sines = sin(x);
  const Tensor sum = sines.sum();
  session->execute({sines, sum});  // both stay on the workers
  const Array few =
      session->fetch_part(sines, {500}, {3});  // only the chunk that has them comes over
  fmt::print("sin(x)[500:503] = {:.4f}, {:.4f}, {:.4f}\n", few.as<double>()[0], few.as<double>()[1],
             few.as<double>()[2]);
  return session->fetch<double>(sum).item();
}
// endregion

int main(int argc, char** argv) {
  try {
    std::unique_ptr<SmallCluster> own;
    if (argc < 2) own = std::make_unique<SmallCluster>();
    const double sum = sum_of_sines(argc < 2 ? own->url() : argv[1]);
    double expected = 0;
    for (int i = 0; i < 1'000'000; ++i) expected += std::sin(100.0 * i / 999'999);
    fmt::print("the sum of all is {:.6f}\n", sum);
    return std::abs(sum - expected) < 1e-6 ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return EXIT_FAILURE;
  }
}
