#include "limits.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "muster/runtime/futex.h"
#include "partner.h"
#include "samples.h"
#include "wire.h"

namespace muster::bench {
namespace {

using Word = std::atomic<std::uint32_t>;

void wait_while(const Word& word, std::uint32_t value) {
  while (word.load(std::memory_order_acquire) == value) futex_wait(word, value, std::nullopt);
}

void set(Word& word, std::uint32_t value) {
  word.store(value, std::memory_order_release);
  futex_wake(word);
}

}  // namespace

double futex_wake_up(double seconds) {
  void* const memory =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  auto* const there = new (memory) Word(0);
  auto* const back = new (static_cast<std::byte*>(memory) + 1024) Word(0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Pinned pinned(1);
    for (std::uint32_t round = 0;; ++round) {
      wait_while(*there, round);
      set(*back, round + 1);
    }
  }
  const Pinned pinned(0);
  std::vector<double> microseconds;
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  std::uint32_t round = 0;
  for (std::int64_t before = now_ns(); before < end; ++round) {
    set(*there, round + 1);
    wait_while(*back, round);
    const std::int64_t after = now_ns();
    microseconds.push_back(static_cast<double>(after - before) / 1e3);
    before = after;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::munmap(memory, 4096);
  return percentile(microseconds, 0.5) / 2;
}

double memcpy_bandwidth(double seconds) {
  static std::vector<std::byte> target(kLargest);
  std::size_t turn = 0;
  std::memcpy(target.data(), payload(turn++), kLargest);
  const std::int64_t start = now_ns();
  std::int64_t end = start;
  double bytes = 0;
  while (static_cast<double>(end - start) < seconds * 1e9) {
    std::memcpy(target.data(), payload(turn++), kLargest);
    bytes += static_cast<double>(kLargest);
    end = now_ns();
  }
  return bytes / static_cast<double>(end - start) * 1e9;
}

}  // namespace muster::bench
