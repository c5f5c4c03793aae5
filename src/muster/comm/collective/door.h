#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace muster::comm::collective {

/// Keeps what the calls of a group work with. When the group has been closed and the last call is
/// out, it lets go of that; whoever visits it meanwhile may use it by reference. Thread-safe, but
/// for `keep`.
class Door {
 public:
  /// While it lives, and is true, what the door keeps is there. The last one may let go of it, so
  /// it outlives the locks of its thread.
  class Visit {
   public:
    explicit Visit(std::shared_ptr<Door> door) {
      if (door->enter()) door_ = std::move(door);
    }
    Visit(Visit&&) noexcept = default;
    Visit& operator=(Visit&&) = delete;
    ~Visit() {
      if (door_) door_->leave();
    }
    explicit operator bool() const { return door_ != nullptr; }

   private:
    std::shared_ptr<Door> door_;
  };

  /// Before anybody visits or closes it.
  void keep(std::shared_ptr<void> what) { kept_.push_back(std::move(what)); }
  /// Idempotent.
  void close() {
    if (state_.fetch_or(kClosed) == 0) let_go();
  }

 private:
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;

  /// Also after it was closed, as long as somebody else is inside.
  bool enter() {
    std::uint64_t state = state_.load();
    while (state != kClosed)
      if (state_.compare_exchange_weak(state, state + 1)) return true;
    return false;
  }
  void leave() {
    if (state_.fetch_sub(1) == kClosed + 1) let_go();
  }
  void let_go() { std::exchange(kept_, {}); }

  std::atomic<std::uint64_t> state_{0};  // how many are inside, and whether it is closed
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace muster::comm::collective
