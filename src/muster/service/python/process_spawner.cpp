#include "muster/service/python/process_spawner.h"

#include <utility>

namespace muster::service {

ProcessSpawner::ProcessSpawner() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

ProcessSpawner::~ProcessSpawner() = default;

Result<ChildProcess> ProcessSpawner::spawn(SpawnOptions options) {
  Order order([options = std::move(options)] { return ChildProcess::spawn(options); });
  auto child = order.get_future();
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
  }
  changed_.notify_one();
  return child.get();
}

void ProcessSpawner::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !orders_.empty(); })) {
    Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    order();
    lock.lock();
  }
}

}  // namespace muster::service
