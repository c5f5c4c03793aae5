#include "muster/comm/driver/inproc/inproc.h"

#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/driver/inproc/mailbox.h"
#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

class InprocDriver final : public Driver {
 public:
  explicit InprocDriver(const DriverContext& context)
      : self_(context.self),
        mailbox_(std::make_shared<Mailbox>(context.doorbell, context.limits.peer_bytes)),
        address_(publish_mailbox(mailbox_)) {}
  ~InprocDriver() override { InprocDriver::close(); }

  [[nodiscard]] std::string_view name() const override { return "inproc"; }
  [[nodiscard]] std::string address() const override { return address_; }

  Result<void> connect(PeerId peer, const Entry& entry) override {
    const auto address = entry.addresses.find("inproc");
    const auto box = address == entry.addresses.end() ? nullptr : find_mailbox(address->second);
    if (!box)
      return fail(Errc::peer_connection,
                  fmt::format("'{}' has no mailbox in this process", entry.name.view()));
    peers_.emplace(peer, Peer{box, entry.instance});
    ids_.emplace(entry.instance, peer);
    mailbox_->know(entry.instance);
    box->deliver({self_.instance, Mailbox::Hello{self_}}, mailbox_);
    return {};
  }

  // Whoever leaves at once would otherwise be gone before the peer has met it.
  [[nodiscard]] bool established(PeerId peer) const override {
    const auto it = peers_.find(peer);
    return it != peers_.end() && it->second.box->knows(self_.instance);
  }

  void disconnect(PeerId peer) override {
    const auto it = peers_.find(peer);
    if (it == peers_.end()) return;
    mailbox_->forget(it->second.instance);
    ids_.erase(it->second.instance);
    peers_.erase(it);
  }

  SendStatus send(PeerId peer, const Message& message) override {
    const auto it = peers_.find(peer);
    if (it == peers_.end()) return SendStatus::gone;
    Message kept = message;
    kept.body = message.body.kept();
    switch (it->second.box->deliver({self_.instance, std::move(kept)}, mailbox_)) {
      case Mailbox::Delivery::accepted: return SendStatus::sent;
      case Mailbox::Delivery::full: return SendStatus::full;
      case Mailbox::Delivery::closed: return SendStatus::gone;
    }
    return SendStatus::gone;
  }

  void flush() override {}

  // The receiver holds what was delivered, whatever becomes of the sender.
  [[nodiscard]] bool drained(PeerId /*peer*/) const override { return true; }

  [[nodiscard]] bool ready() const override { return mailbox_->has_mail(); }

  std::size_t poll(DriverSink& sink, Intake intake) override {
    if (!mailbox_->has_mail()) return 0;
    std::size_t delivered = 0;
    for (Mailbox::Item& item : mailbox_->take(intake)) delivered += dispatch(sink, item) ? 1u : 0u;
    return delivered;
  }

  [[nodiscard]] DriverCounters counters() const override { return counters_; }

  void close() override {
    if (closed_) return;
    closed_ = true;
    withdraw_mailbox(address_);
    mailbox_->close();
    for (const auto& [id, peer] : peers_)
      peer.box->deliver({self_.instance, Mailbox::Goodbye{}}, mailbox_);
    peers_.clear();
    ids_.clear();
  }

 private:
  struct Peer {
    std::shared_ptr<Mailbox> box;
    InstanceId instance;
  };

  bool dispatch(DriverSink& sink, Mailbox::Item& item) {
    if (const auto* hello = std::get_if<Mailbox::Hello>(&item.content)) {
      if (!ids_.contains(item.from)) static_cast<void>(sink.on_hello(hello->entry));
      return false;
    }
    const auto it = ids_.find(item.from);
    if (it == ids_.end()) {
      ++counters_.stale;
      return false;
    }
    if (auto* message = std::get_if<Message>(&item.content)) {
      sink.on_message(it->second, std::move(*message));
      return true;
    }
    sink.on_departure(it->second, Departure::graceful, "it left the group");
    return false;
  }

  const Entry& self_;
  std::shared_ptr<Mailbox> mailbox_;
  std::string address_;
  std::unordered_map<PeerId, Peer> peers_;
  std::unordered_map<InstanceId, PeerId> ids_;
  DriverCounters counters_;
  bool closed_ = false;
};

}  // namespace

Result<std::unique_ptr<Driver>> make_inproc_driver(const DriverContext& context) {
  return std::make_unique<InprocDriver>(context);
}

}  // namespace muster::comm
