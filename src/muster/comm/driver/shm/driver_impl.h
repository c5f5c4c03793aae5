#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "muster/comm/driver/context.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/driver/shm/arena.h"
#include "muster/comm/driver/shm/inbound.h"
#include "muster/comm/driver/shm/options.h"
#include "muster/comm/driver/shm/outbound.h"
#include "muster/comm/driver/shm/placement.h"
#include "muster/runtime/epoll.h"

namespace muster::comm::shm {

/// How long until what nobody rings for is tried again.
inline constexpr Duration kRetry = std::chrono::milliseconds(1);
/// How long until it is tried again when there are no descriptors.
inline constexpr Duration kRetryStarved = std::chrono::milliseconds(50);

/// See README.md. `ready` reads only what `poll` left for it (`polled_`) and atomics; everything
/// else is guarded by the proxy's lock.
class ShmDriver final : public Driver {
 public:
  ShmDriver(DriverContext context, ShmOptions options, std::string address, FileDescriptor listener,
            Epoll epoll, std::shared_ptr<const FileDescriptor> ringing_socket);
  ShmDriver(const ShmDriver&) = delete;
  ShmDriver& operator=(const ShmDriver&) = delete;
  ~ShmDriver() override;

  [[nodiscard]] std::string_view name() const override { return "shm"; }
  [[nodiscard]] std::string address() const override { return address_; }
  Result<void> connect(PeerId peer, const Entry& entry) override;
  [[nodiscard]] bool established(PeerId peer) const override;
  void disconnect(PeerId peer) override;
  SendStatus send(PeerId peer, const Message& message) override;
  void flush() override {}
  [[nodiscard]] std::vector<Message> take_undelivered(PeerId peer) override;
  [[nodiscard]] bool drained(PeerId peer) const override;
  [[nodiscard]] bool ready() const override;
  std::size_t poll(DriverSink& sink, Intake intake) override;
  [[nodiscard]] Deadline next_wakeup() const override;
  [[nodiscard]] int control_fd() const override { return epoll_.fd(); }
  void on_control(DriverSink& sink) override;
  [[nodiscard]] Result<WritableBuffer> allocate(std::size_t bytes) override;
  [[nodiscard]] DriverCounters counters() const override { return counters_; }
  void close() override;

 private:
  struct Peer {
    Name name;
    std::shared_ptr<Outbound> out;  // shared with polled_
    std::shared_ptr<Inbound> in;    // shared with polled_
    std::shared_ptr<const FileDescriptor> process;
    bool ended = false;  // to be reported when everything it sent is delivered
    Departure departure = Departure::lost;
    std::string why;
  };
  struct Arrival {
    FileDescriptor socket;
    PeerProcess process;
    std::optional<SecretProof::Handshake> handshake = {};  // since it knocked
  };
  enum class Source : std::uint8_t { listener, arrival, outbound, inbound, process };
  // What the poller looks at without the lock.
  struct Polled {
    std::vector<std::pair<PeerId, std::shared_ptr<Inbound>>> inbound;
    std::vector<std::shared_ptr<Outbound>> outbound;
  };

  using Peers = std::unordered_map<PeerId, Peer>;

  // The peer that is sent to, mostly the same as last time; null when there is none.
  [[nodiscard]] Peers::value_type* find_again(PeerId id);
  void forget(Peers::iterator peer);
  void watch(int fd, Source source, std::uint32_t number = 0);
  void set_aside(int fd, Source source, std::uint32_t number = 0);
  void take_up_starved();
  void note_change();
  void refresh_polled();
  void note_progress();
  void watch_process_of(PeerId id, Peer& peer, pid_t pid);
  Result<void> try_connect(PeerId id, Peer& peer);
  void retry_connects();

  void accept_arrivals();
  void read_arrivals(DriverSink& sink);
  [[nodiscard]] bool read_arrival(std::uint32_t number, Arrival& arrival, DriverSink& sink);
  // False: it is refused.
  [[nodiscard]] bool on_knock(Arrival& arrival, const Knock& knock);
  [[nodiscard]] bool has_proved(const Arrival& arrival, const Hello& hello) const;
  void on_hello(Arrival& arrival, Hello hello, DriverSink& sink);
  void refuse(const Arrival& arrival, std::uint64_t& counter, const std::string& why);
  void refuse(const Arrival& arrival, const Error& error);
  void note_farewell(Peer& peer, Farewell farewell);

  void on_outbound(PeerId id);
  void on_answer(PeerId id, Peer& peer, const Answer& answer);
  void on_inbound(PeerId id);
  void end(PeerId id, Peer& peer, std::string why);
  void on_malformed(PeerId id, Peer& peer, const Error& error);
  void report_departures(DriverSink& sink);
  void drop(Peer& peer, Farewell farewell);
  std::size_t drain_all(DriverSink& sink);
  void tidy();

  DriverContext context_;
  ShmOptions options_;
  std::string address_;
  FileDescriptor listener_;
  Epoll epoll_;
  std::shared_ptr<const FileDescriptor> ringing_socket_;
  Arena arena_;
  Placer placer_;
  std::optional<SecretProof> secret_;
  Outbound::Common outbound_common_;

  Peers peers_;
  Peers::value_type* last_sent_to_ = nullptr;  // in peers_
  std::map<std::uint32_t, Arrival> arrivals_;  // accepted, hello not yet read; oldest first
  std::uint32_t next_arrival_ = 0;
  std::vector<PeerId> connecting_;
  std::vector<PeerId> ended_;
  Deadline retry_at_;
  // What could not be read for want of descriptors, not watched until `starved_until_`.
  std::set<std::pair<Source, std::uint32_t>> starved_;
  Deadline starved_until_;
  bool starving_ = false;  // it was said
  DriverCounters counters_;
  std::size_t polls_ = 0;
  bool closed_ = false;
  std::uint64_t made_in_;  // which process, counted in forks

  Polled polled_;                     // only by the poller
  std::size_t first_polled_ = 0;      // only by the poller
  Inbound::Receiver receiver_;        // the sink of the last poll
  std::atomic<bool> changed_{false};  // polled_ is out of date
  std::atomic<bool> waiting_{false};  // a send found no room
};

}  // namespace muster::comm::shm
