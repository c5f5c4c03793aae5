#include "muster/comm/driver/inproc/mailbox.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "muster/base/random.h"

namespace muster::comm {
namespace {

struct Directory {
  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<Mailbox>> boxes;
};

Directory& directory() {
  static Directory* const instance =
      new Directory;  // never destroyed: proxies may outlive static objects
  return *instance;
}

}  // namespace

void Mailbox::know(InstanceId peer) {
  const std::lock_guard lock(mutex_);
  known_.insert(peer);
}

void Mailbox::forget(InstanceId peer) {
  const std::lock_guard lock(mutex_);
  known_.erase(peer);
}

bool Mailbox::knows(InstanceId peer) const {
  const std::lock_guard lock(mutex_);
  return known_.contains(peer);
}

Mailbox::Delivery Mailbox::deliver(Item item, const std::weak_ptr<Mailbox>& sender) {
  const std::lock_guard lock(mutex_);
  if (doorbell_ == nullptr) return Delivery::closed;
  if (const auto* message = std::get_if<Message>(&item.content)) {
    std::size_t& bytes = waiting_bytes_[item.from];
    if (bytes >= bytes_per_sender_) {
      hindered_.push_back(sender);
      return Delivery::full;
    }
    bytes += weight(*message);
  }
  (std::holds_alternative<Hello>(item.content) ? hellos_ : items_).push_back(std::move(item));
  has_mail_.store(true, std::memory_order_release);
  doorbell_->ring();
  return Delivery::accepted;
}

std::deque<Mailbox::Item> Mailbox::take(Intake intake) {
  std::deque<Item> items;
  std::vector<std::weak_ptr<Mailbox>> hindered;
  {
    const std::lock_guard lock(mutex_);
    items.swap(hellos_);
    if (intake == Intake::closed) return items;
    if (items.empty()) {
      items.swap(items_);
    } else {
      std::move(items_.begin(), items_.end(), std::back_inserter(items));
      items_.clear();
    }
    hindered.swap(hindered_);
    waiting_bytes_.clear();
    has_mail_.store(false, std::memory_order_release);
  }
  for (const auto& weak : hindered) {
    if (const auto box = weak.lock()) box->ring();
  }
  return items;
}

bool Mailbox::has_mail_from(InstanceId sender) const {
  const std::lock_guard lock(mutex_);
  const auto it = waiting_bytes_.find(sender);
  return it != waiting_bytes_.end() && it->second > 0;
}

void Mailbox::ring() {
  const std::lock_guard lock(mutex_);
  // A sender that waits for room looks for mail before it sleeps; this makes it look at all.
  has_mail_.store(true, std::memory_order_release);
  if (doorbell_ != nullptr) doorbell_->ring();
}

void Mailbox::close() {
  const std::lock_guard lock(mutex_);
  doorbell_ = nullptr;
}

std::string publish_mailbox(const std::shared_ptr<Mailbox>& mailbox) {
  const std::string address =
      fmt::format("{:016x}{:016x}", secure_random_u64(), secure_random_u64());
  const std::lock_guard lock(directory().mutex);
  directory().boxes.emplace(address, mailbox);
  return address;
}

std::shared_ptr<Mailbox> find_mailbox(const std::string& address) {
  const std::lock_guard lock(directory().mutex);
  const auto it = directory().boxes.find(address);
  return it == directory().boxes.end() ? nullptr : it->second.lock();
}

void withdraw_mailbox(const std::string& address) {
  const std::lock_guard lock(directory().mutex);
  directory().boxes.erase(address);
}

}  // namespace muster::comm
