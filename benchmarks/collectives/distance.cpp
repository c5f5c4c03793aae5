#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <thread>

// Prints how many nanoseconds a line of cache takes from one core to another, which are given. On a
// host with several caches that tells whether the two share one, which decides how quick ranks are.

namespace {

constexpr int kTurns = 100'000;

alignas(128) std::atomic<int> line{0};

void pin_to(std::size_t core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (::pthread_setaffinity_np(::pthread_self(), sizeof cores, &cores) == 0) return;
  std::fprintf(stderr, "core %zu is not for us\n", core);
  std::_Exit(1);
}

void pass(int from, int to) {
  while (line.load(std::memory_order_acquire) != from) {
  }
  line.store(to, std::memory_order_release);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::thread other([argv] {
    pin_to(std::strtoul(argv[2], nullptr, 10));
    for (int i = 0; i < kTurns; ++i) pass(2 * i + 1, 2 * i + 2);
  });
  pin_to(std::strtoul(argv[1], nullptr, 10));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kTurns; ++i) pass(2 * i, 2 * i + 1);
  other.join();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.0f\n", took.count() / kTurns / 2);
  return 0;
}
