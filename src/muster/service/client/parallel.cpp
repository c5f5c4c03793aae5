#include "muster/service/client/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "muster/engine/errors.h"

namespace muster::service {

namespace {

using namespace std::chrono_literals;

constexpr auto kLookAtShare = 50ms;

/// What the threads share.
struct Share {
  std::atomic<std::size_t> next = 0;
  std::stop_source stop;
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t running = 0;         ///< threads; `mutex` must be held
  std::exception_ptr first_error;  ///< likewise

  void fail(std::exception_ptr error) {
    const std::scoped_lock lock(mutex);
    if (!first_error) first_error = std::move(error);
    stop.request_stop();
  }
};

}  // namespace

void in_parallel(std::size_t count, std::size_t threads,
                 const std::function<void(std::size_t, const std::stop_token&)>& work,
                 const std::stop_token& outer, const std::function<void()>& waiting) {
  if (count == 0) return;
  Share share;
  const std::stop_callback passed_on(outer, [&] { share.stop.request_stop(); });
  const auto run = [&] {
    try {
      while (!share.stop.stop_requested()) {
        const std::size_t number = share.next++;
        if (number >= count) break;
        work(number, share.stop.get_token());
      }
    } catch (...) {
      share.fail(std::current_exception());
    }
    const std::scoped_lock lock(share.mutex);
    --share.running;
    share.ended.notify_one();
  };
  share.running = std::min(count, std::max<std::size_t>(threads, 1));
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = share.running; i > 0; --i) workers.emplace_back(run);
    std::unique_lock lock(share.mutex);
    while (!share.ended.wait_for(lock, kLookAtShare, [&] { return share.running == 0; })) {
      if (!waiting) continue;
      lock.unlock();
      try {
        waiting();
      } catch (...) {
        share.fail(std::current_exception());
      }
      lock.lock();
    }
  }
  if (share.first_error) std::rethrow_exception(share.first_error);
  if (outer.stop_requested())
    throw engine::ArrayError(engine::Wrong::cancelled, "the execution was cancelled");
}

}  // namespace muster::service
