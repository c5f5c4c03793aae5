#include "muster/engine/execute/thread_pool.h"

namespace muster::engine {

ThreadPool::ThreadPool(std::size_t threads) {
  for (std::size_t number = 0; number < threads; ++number)
    threads_.emplace_back([this, number](const std::stop_token& stop) { serve(number, stop); });
}

ThreadPool::~ThreadPool() {
  for (std::jthread& thread : threads_) thread.request_stop();
  changed_.notify_all();
}

void ThreadPool::run(const std::function<void(std::size_t)>& work,
                     const std::function<void()>& wait) {
  const std::scoped_lock only_one(runs_);
  {
    const std::scoped_lock lock(mutex_);
    work_ = &work;
    busy_ = threads_.size();
    ++round_;
  }
  changed_.notify_all();
  for (;;) {
    wait();
    const std::scoped_lock lock(mutex_);
    if (busy_ == 0) break;
  }
}

void ThreadPool::serve(std::size_t number, const std::stop_token& stop) {
  std::size_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!changed_.wait(lock, stop, [&] { return round_ != seen; })) return;
    seen = round_;
    const auto* const work = work_;
    lock.unlock();
    (*work)(number);
    lock.lock();
    --busy_;
  }
}

}  // namespace muster::engine
