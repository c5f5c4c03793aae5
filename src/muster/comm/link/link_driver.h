#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/link/complaints.h"
#include "muster/comm/link/frame_transport.h"
#include "muster/comm/link/link.h"

namespace muster::comm {

/// A driver out of a transport that may lose frames: one `Link` per peer, the handshake, and the
/// counting of what does not belong here. Threading and calls as `Driver` says; the sink may call
/// back into it from every callback.
///
/// A silent peer is reported and kept: its link goes on where it was when the peer is heard again.
class LinkDriver final : public Driver {
 public:
  LinkDriver(DriverContext context, std::unique_ptr<FrameTransport> transport, LinkOptions options);
  ~LinkDriver() override;

  [[nodiscard]] std::string_view name() const override { return transport_->name(); }
  [[nodiscard]] std::string address() const override { return transport_->address(); }

  Result<void> connect(PeerId peer, const Entry& entry) override;
  [[nodiscard]] bool established(PeerId peer) const override;
  void disconnect(PeerId peer) override;
  /// What was sent and not acknowledged: it may or may not have arrived. Also after the departure.
  [[nodiscard]] std::vector<Message> take_undelivered(PeerId peer) override;
  SendStatus send(PeerId peer, const Message& message) override;
  void flush() override;
  [[nodiscard]] bool drained(PeerId peer) const override;

  /// Also true while frames are kept because the intake was closed.
  [[nodiscard]] bool ready() const override {
    return backlog_.load(std::memory_order_relaxed) || transport_->ready();
  }
  std::size_t poll(DriverSink& sink, Intake intake) override;
  [[nodiscard]] bool gathers() const override { return true; }
  [[nodiscard]] Deadline next_wakeup() const override {
    return earlier(due_, transport_->next_wakeup());
  }
  [[nodiscard]] int data_fd() const override { return transport_->data_fd(); }

  [[nodiscard]] DriverCounters counters() const override;
  void close() override;

 private:
  struct Peer;

  [[nodiscard]] Peer* find(PeerId peer) const;
  [[nodiscard]] Peer* find(InstanceId instance) const;
  void end(Peer& peer);
  void bury(Peer& peer);
  void pump(Peer& peer, TimePoint now);

  void take_events(TimePoint now);
  void dispatch(Frame frame, DriverSink& sink, TimePoint now);
  void on_hello(const FrameHeader& header, Frame frame, DriverSink& sink, TimePoint now);
  [[nodiscard]] std::optional<Entry> read_hello(const FrameHeader& header, const Frame& frame,
                                                TimePoint now);
  void hand_to_link(Peer& peer, const FrameHeader& header, Frame frame, TimePoint now);
  std::size_t deliver(Peer& peer, DriverSink& sink, TimePoint now);
  std::size_t deliver_waiting(DriverSink& sink, TimePoint now);
  void serve_links(TimePoint now);
  /// Of those that end the link, only the first reason counts.
  void note_departure(Peer& peer, Departure departure, std::string why);
  void report_departures(DriverSink& sink);

  DriverContext context_;
  std::unique_ptr<FrameTransport> transport_;
  LinkOptions options_;
  std::string hello_;
  std::uint32_t last_epoch_ = 0;

  std::unordered_map<PeerId, std::unique_ptr<Peer>> peers_;
  std::unordered_map<InstanceId, Peer*>
      by_instance_;                            // into `peers_`; only those whose link has not ended
  std::vector<std::unique_ptr<Peer>> buried_;  // disconnected while `poll` may still refer to them
  std::deque<InstanceId> former_;              // whose late frames are stale, not strange
  std::vector<PeerId> gathering_;              // may have an open batch
  std::vector<PeerId> waiting_;                // have received frames that are not delivered
  std::vector<PeerId> departing_;  // are to be reported when nothing of theirs is left to deliver

  Deadline due_;  // not later than the earliest wakeup of any link
  unsigned polls_without_events_ = 0;
  bool polling_ = false;
  bool closed_ = false;
  std::atomic<bool> backlog_{false};
  DriverCounters counters_;
  Complaints complaints_;
};

}  // namespace muster::comm
