#include "muster/service/scheduler/job_pool.h"

#include <utility>

namespace muster::service {

bool JobPool::post(std::function<void()> job) {
  const std::scoped_lock lock(mutex_);
  if (stopped_ || jobs_.size() >= most_) return false;
  jobs_.push_back(std::move(job));
  if (idle_ < jobs_.size() && threads_.size() < most_threads_)
    threads_.emplace_back([this] { work(); });
  changed_.notify_one();
  return true;
}

void JobPool::stop() {
  std::vector<std::jthread> threads;
  std::deque<std::function<void()>> dropped;
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    threads.swap(threads_);
    dropped.swap(jobs_);
    changed_.notify_all();
  }
}

void JobPool::work() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (jobs_.empty()) {
      ++idle_;
      changed_.wait(lock, [&] { return stopped_ || !jobs_.empty(); });
      --idle_;
      continue;
    }
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

}  // namespace muster::service
