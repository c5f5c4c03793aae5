#include "muster/service/worker/admission.h"

namespace muster::service {

Admission::Admission(std::size_t capacity, ByteGauge& elsewhere)
    : capacity_(capacity), elsewhere_(elsewhere) {
  elsewhere_.tell([this] { look_again(); });
}

Admission::~Admission() { elsewhere_.tell({}); }

std::optional<Admission::Place> Admission::enter(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  const auto fits = [&] { return inside_ == 0 || used_ + bytes + elsewhere_.load() <= capacity_; };
  if (!stopped_ && (!queue_.empty() || !fits())) {
    const std::uint64_t ticket = next_ticket_++;
    queue_.push_back(ticket);
    // Whoever is inside ends, or `stop` does; what is elsewhere may become less before.
    changed_.wait(lock, [&] { return stopped_ || (queue_.front() == ticket && fits()); });
    if (!stopped_) queue_.pop_front();
  }
  if (stopped_) return {};
  ++inside_;
  used_ += bytes;
  if (!queue_.empty()) changed_.notify_all();
  return Place(*this, bytes);
}

void Admission::leave(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  --inside_;
  used_ -= bytes;
  if (!queue_.empty()) changed_.notify_all();
}

void Admission::look_again() {
  const std::scoped_lock lock(mutex_);
  if (!queue_.empty()) changed_.notify_all();
}

void Admission::stop() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

std::size_t Admission::waiting() const {
  const std::scoped_lock lock(mutex_);
  return queue_.size();
}

}  // namespace muster::service
