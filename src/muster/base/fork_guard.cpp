#include "muster/base/fork_guard.h"

#include <atomic>
#include <pthread.h>

namespace muster {
namespace {

std::atomic<std::uint64_t> generation{
    0};  // changed only in a fresh child, before it runs any other code

const int registered =
    ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint64_t fork_generation() noexcept {
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace muster
