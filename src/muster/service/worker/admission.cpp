#include "muster/service/worker/admission.h"

namespace muster::service {

std::optional<Admission::Place> Admission::enter(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  // What is elsewhere may become less without a word: then the next that leaves lets others in.
  const auto fits = [&] { return inside_ == 0 || used_ + bytes + elsewhere_ <= capacity_; };
  if (!stopped_ && (!queue_.empty() || !fits())) {
    const std::uint64_t ticket = next_ticket_++;
    queue_.push_back(ticket);
    // Whoever is inside ends, or `stop` does.
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
