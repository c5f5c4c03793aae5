#include "muster/service/web/event_hub.h"

#include <utility>

#include <fmt/format.h>

namespace muster::service {

void EventHub::publish(std::string_view line) {
  const auto shared = std::make_shared<const std::string>(line);
  const std::scoped_lock lock(mutex_);
  std::erase_if(listeners_, [&](const std::weak_ptr<Listening>& weak) {
    const auto listening = weak.lock();
    if (listening) listening->add(shared);
    return !listening;
  });
}

std::shared_ptr<EventHub::Listening> EventHub::listen() {
  auto listening = std::make_shared<Listening>();
  const std::scoped_lock lock(mutex_);
  listening->stopped_ = stopped_;
  listeners_.push_back(listening);
  return listening;
}

void EventHub::stop() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  for (const auto& weak : listeners_)
    if (const auto listening = weak.lock()) listening->stop();
}

std::size_t EventHub::listeners() const {
  const std::scoped_lock lock(mutex_);
  std::size_t count = 0;
  for (const auto& weak : listeners_) count += weak.expired() ? 0 : 1;
  return count;
}

void EventHub::Listening::add(std::shared_ptr<const std::string> line) {
  const std::scoped_lock lock(mutex_);
  if (lines_.size() == kMostLines) {
    lines_.pop_front();
    ++lost_;
  }
  lines_.push_back(std::move(line));
  changed_.notify_one();
}

void EventHub::Listening::stop() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

bool EventHub::Listening::stopped() const {
  const std::scoped_lock lock(mutex_);
  return stopped_;
}

std::vector<std::shared_ptr<const std::string>> EventHub::Listening::take(TimePoint deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return stopped_ || !lines_.empty(); });
  std::vector<std::shared_ptr<const std::string>> taken;
  if (const std::uint64_t lost = std::exchange(lost_, 0); lost > 0)
    taken.push_back(std::make_shared<const std::string>(
        fmt::format(R"({{"event":"lines_lost","count":{}}})", lost)));
  taken.insert(taken.end(), lines_.begin(), lines_.end());
  lines_.clear();
  return taken;
}

}  // namespace muster::service
