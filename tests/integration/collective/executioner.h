#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace muster::comm {

/// When the victim is killed: when it comes to a step, before it tells the others, or some time
/// after that, when they may be busy with what it told.
struct Moment {
  int step = 1;
  std::chrono::microseconds late{0};

  [[nodiscard]] std::string text() const {
    return fmt::format("at step {}, {} µs late", step, late.count());
  }
};

/// Up to as long as a large call takes.
inline std::chrono::microseconds some_time(std::mt19937_64& random) {
  return std::chrono::microseconds(1 + random() % (std::uint64_t{1} << random() % 11));
}

/// Kills its own process, the victim.
class Executioner {
 public:
  explicit Executioner(
      const Moment& moment, std::function<void()> before = [] {})
      : before_(std::move(before)), left_(moment.step), late_(moment.late) {}

  /// While it is on, steps count.
  std::atomic<bool> in_danger{false};

  void at_step() {
    if (!in_danger || --left_ != 0) return;
    called_ = true;
    if (late_.count() == 0) kill();
    thread_ = std::jthread([this] {
      const auto until = std::chrono::steady_clock::now() + late_;
      while (std::chrono::steady_clock::now() < until) continue;
      kill();
    });
  }
  /// Comes back only when nobody will be killed.
  void meet() const {
    while (called_) std::this_thread::sleep_for(std::chrono::seconds(1));
  }

  void kill() {
    before_();
    ::raise(SIGKILL);
  }

 private:
  std::function<void()> before_;
  std::atomic<int> left_;
  std::chrono::microseconds late_;
  std::atomic<bool> called_{false};
  std::jthread thread_;
};

}  // namespace muster::comm
