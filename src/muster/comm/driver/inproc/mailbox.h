#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "muster/comm/discovery/entry.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/message/message.h"
#include "muster/runtime/doorbell.h"

namespace muster::comm {

/// Where proxies of one process leave messages for one of them. Thread-safe.
class Mailbox {
 public:
  struct Hello {
    Entry entry;
  };
  struct Goodbye {};
  using Content = std::variant<Message, Hello, Goodbye>;
  struct Item {
    InstanceId from;
    Content content;
  };
  enum class Delivery : std::uint8_t { accepted, full, closed };

  /// `doorbell` outlives `close`.
  Mailbox(Doorbell& doorbell, std::size_t bytes_per_sender)
      : doorbell_(&doorbell), bytes_per_sender_(bytes_per_sender) {}

  /// Who the owner is connected to.
  void know(InstanceId peer);
  void forget(InstanceId peer);
  [[nodiscard]] bool knows(InstanceId peer) const;

  /// Only messages can meet a full box; `sender` is rung when there is room again.
  Delivery deliver(Item item, const std::weak_ptr<Mailbox>& sender);
  /// Everything; while the intake is closed, only who says hello.
  [[nodiscard]] std::deque<Item> take(Intake intake);
  [[nodiscard]] bool has_mail() const { return has_mail_.load(std::memory_order_acquire); }
  [[nodiscard]] bool has_mail_from(InstanceId sender) const;
  /// Wakes the owner.
  void ring();
  void close();

  /// What a message counts for in the limit.
  [[nodiscard]] static std::size_t weight(const Message& message) {
    return message.body.size() + sizeof(Message);
  }

 private:
  mutable std::mutex mutex_;
  Doorbell* doorbell_;  // null once closed; the proxy that owns it closes the box before it goes
  std::size_t bytes_per_sender_;
  // Apart, because an owner whose inbox is full meets others all the same.
  std::deque<Item> hellos_;
  std::deque<Item> items_;
  std::map<InstanceId, std::size_t> waiting_bytes_;
  std::set<InstanceId> known_;
  std::vector<std::weak_ptr<Mailbox>> hindered_;  // senders that met a full box
  std::atomic<bool> has_mail_{false};
};

/// The mailboxes of this process by address. They find each other through one process-wide table,
/// because proxies that know nothing of each other but the discovery store must meet. Thread-safe.
[[nodiscard]] std::string publish_mailbox(const std::shared_ptr<Mailbox>& mailbox);
[[nodiscard]] std::shared_ptr<Mailbox> find_mailbox(const std::string& address);
void withdraw_mailbox(const std::string& address);

}  // namespace muster::comm
