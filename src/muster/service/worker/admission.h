#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "muster/service/worker/counters.h"

namespace muster::service {

/// Lets tasks begin as long as what they read and make fits into the store together, beside the
/// bytes that are kept elsewhere. One that runs alone may always begin. In order: small tasks do
/// not take the room that a large one waits for. Thread-safe.
class Admission {
 public:
  /// `elsewhere` outlives it, and tells nobody else.
  Admission(std::size_t capacity, ByteGauge& elsewhere);
  ~Admission();
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  /// Room that is held while it lives.
  class Place {
   public:
    Place(Admission& admission, std::size_t bytes) : admission_(&admission), bytes_(bytes) {}
    Place(Place&& other) noexcept
        : admission_(std::exchange(other.admission_, nullptr)), bytes_(other.bytes_) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(admission_, other.admission_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Place() {
      if (admission_ != nullptr) admission_->leave(bytes_);
    }

   private:
    Admission* admission_;  ///< outlives every task; null when it was moved from
    std::size_t bytes_;
  };

  /// Waits until `bytes` fit; nothing when it was stopped.
  [[nodiscard]] std::optional<Place> enter(std::size_t bytes);
  /// Likewise until nobody else is inside.
  [[nodiscard]] std::optional<Place> enter_alone() { return enter(capacity_ + 1); }
  /// Ends all waits.
  void stop();

  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t waiting() const;

 private:
  void leave(std::size_t bytes);
  void look_again();

  const std::size_t capacity_;
  ByteGauge& elsewhere_;      ///< see the constructor
  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<std::uint64_t> queue_;  ///< tickets of those that wait
  std::uint64_t next_ticket_ = 0;
  std::size_t inside_ = 0;
  std::size_t used_ = 0;
  bool stopped_ = false;
};

}  // namespace muster::service
