#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
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
  void disconnect(PeerId peer) override;
  SendStatus send(PeerId peer, const Message& message) override;
  void flush() override;
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
  };
  enum class Source : std::uint8_t { listener, arrival, outbound, inbound, process };
  // What the poller looks at without the lock.
  struct Polled {
    std::vector<std::pair<PeerId, std::shared_ptr<Inbound>>> inbound;
    std::vector<std::shared_ptr<Outbound>> outbound;
  };

  void watch(int fd, Source source, std::uint32_t number = 0);
  void note_change();
  void refresh_polled();
  void note_progress();
  void watch_process_of(PeerId id, Peer& peer, pid_t pid);
  Result<void> try_connect(PeerId id, Peer& peer);
  void retry_connects();

  void accept_arrivals();
  void read_arrivals(DriverSink& sink);
  [[nodiscard]] bool read_arrival(Arrival& arrival, DriverSink& sink);
  void on_hello(Arrival& arrival, Hello hello, DriverSink& sink);
  void refuse(const Arrival& arrival, std::uint64_t& counter, const std::string& why);
  void note_farewell(Peer& peer, Farewell farewell);

  void on_outbound(PeerId id);
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
  Outbound::Common outbound_common_;

  std::unordered_map<PeerId, Peer> peers_;
  std::map<std::uint32_t, Arrival> arrivals_;  // accepted, hello not yet read; oldest first
  std::uint32_t next_arrival_ = 0;
  std::vector<PeerId> connecting_;
  std::vector<PeerId> ended_;
  std::vector<Outbound*> unconfirmed_;  // of peers_; sent to since the last flush
  Deadline retry_at_;
  DriverCounters counters_;
  std::size_t polls_ = 0;
  bool closed_ = false;
  std::uint64_t made_in_;  // which process, counted in forks

  Polled polled_;                     // only by the poller
  std::size_t first_polled_ = 0;      // only by the poller
  std::atomic<bool> changed_{false};  // polled_ is out of date
  std::atomic<bool> waiting_{false};  // a send found no room
};

}  // namespace muster::comm::shm
