#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/driver/ucx/credentials.h"
#include "muster/comm/driver/ucx/doors.h"
#include "muster/comm/driver/ucx/options.h"
#include "muster/comm/driver/ucx/parcel.h"
#include "muster/comm/driver/ucx/port.h"
#include "muster/comm/link/complaints.h"
#include "muster/comm/link/frame_transport.h"

namespace muster::comm {

/// Frames over UCX. Each direction between two proxies is a way of its own: an endpoint on the
/// sender's side, a door (doors.h) on the receiver's. A way carries frames when the receiver has
/// answered the sender's challenge; a broken one is made anew. What one send to UCX carries fits
/// into one of its fragments: larger ones would depend on the receiver's endpoint, which may be
/// gone, and would arrive out of order.
class UcxTransport final : public FrameTransport, private UcxPortListener {
 public:
  [[nodiscard]] static Result<std::unique_ptr<UcxTransport>> open(const DriverContext& context,
                                                                  const UcxOptions& options);
  ~UcxTransport() override { close(); }

  [[nodiscard]] std::string_view name() const override { return "ucx"; }
  [[nodiscard]] std::string address() const override { return address_; }

  Result<void> connect(PeerId peer, const Entry& entry) override;
  void disconnect(PeerId peer) override;
  bool send(PeerId peer, const Frame& frame) override;
  [[nodiscard]] std::optional<Frame> receive() override;
  [[nodiscard]] std::string last_sender() const override { return "a UCX peer"; }
  [[nodiscard]] std::optional<TransportEvent> next_event() override;
  [[nodiscard]] std::optional<TimePoint> heard(PeerId peer) const override;
  void flush() override;

  /// Looks at the descriptor only: the worker belongs to whoever holds the proxy's lock.
  [[nodiscard]] bool ready() const override;
  [[nodiscard]] int data_fd() const override { return fd_; }
  [[nodiscard]] Deadline next_wakeup() const override { return wake_at_; }
  [[nodiscard]] std::uint64_t strangers() const override { return strangers_; }
  void close() override;

  /// The transports of UCX that carry frames to the peer, such as "posix"; for people and tests.
  [[nodiscard]] std::string route(PeerId peer) const;
  /// Sends that UCX has not finished, for tests.
  [[nodiscard]] std::size_t pending_sends() const { return pending_.size(); }

 private:
  struct Way {
    enum class State : std::uint8_t {
      asking,   ///< the challenge is on its way
      open,     ///< frames may go
      broken,   ///< is to be made anew at `retry_at`
      refused,  ///< no member made its address
    };

    PeerId peer;
    std::string name;
    std::string address;  // as UCX has it
    InstanceId instance;
    std::int64_t pid = 0;  // 0: it cannot be seen from here
    std::uint64_t pid_start = 0;
    State state = State::broken;
    std::uint32_t number = 0;  // of the port's way; a new one for each attempt
    UcxPassage passage;
    UcxToken token{};
    std::deque<std::shared_ptr<UcxParcel>> queue;
    std::uint64_t frames = 0;
    std::size_t pending = 0;  // chunks that UCX has not finished
    Deadline retry_at;        // when to connect or to ask again
    Duration retry_wait{};
  };
  // A chunk that UCX has not finished.
  struct Pending {
    std::uint32_t way = 0;
    std::shared_ptr<UcxParcel> parcel;
  };

  UcxTransport(const DriverContext& context, UcxCredentials credentials);
  Result<void> open_port(const DriverContext& context, const UcxOptions& options);

  // UcxPortListener.
  void on_arrival(UcxPiece header, UcxPiece data, void* reply) override;
  void on_sent(void* parcel) override;
  void on_broken(std::uint32_t way, const char* why) override;
  void on_challenge(const UcxChallenge& challenge, void* reply);
  void on_answer(const UcxAnswer& answer);
  void on_chunk(const UcxChunk& chunk, ByteSpan bytes);
  void refuse(std::string_view what);

  [[nodiscard]] Way* find(std::uint32_t number);
  void reach(Way& way, TimePoint now);
  void ask(Way& way, TimePoint now);
  void post(Way& way);
  void break_way(Way& way, const std::string& why);
  void end_way(Way& way);

  unsigned advance();
  void work();
  void serve_ways(TimePoint now);
  void retry(Way& way, TimePoint now);
  void plan_wakeup(TimePoint now, bool moved);
  void let_the_last_leave();

  const Clock& clock_;
  Doorbell& doorbell_;
  InstanceId self_;
  std::string host_;
  std::string pid_namespace_;
  Duration lease_;
  std::uint64_t made_in_ = 0;  // fork generation
  UcxCredentials credentials_;
  UcxDoors doors_;
  UcxPort* port_ = nullptr;  // null when closed; made and freed by the module
  int fd_ = -1;
  std::size_t chunk_bytes_ = 0;
  std::string address_;

  std::unordered_map<PeerId, Way> ways_;
  std::unordered_map<std::uint32_t, PeerId> by_number_;
  std::unordered_map<std::uint64_t, PeerId> by_way_;
  std::unordered_map<const void*, std::unique_ptr<Pending>> pending_;
  std::unique_ptr<Pending> spare_;
  std::vector<std::pair<std::uint32_t, std::string>> broken_;  // noticed, not yet dealt with
  std::vector<std::uint32_t> unblocked_;                       // may have more to post
  std::uint32_t last_number_ = 0;

  std::deque<Frame> arrivals_;
  std::deque<TransportEvent> events_;
  std::atomic<bool> pressing_{false};  // `receive` has something to do
  bool armed_ = false;                 // the descriptor tells when something arrives
  TimePoint moved_at_;                 // when a send that does not end moved last
  Deadline look_at_;                   // when to look at those that do not end
  Deadline retry_due_;                 // not later than any way's `retry_at`
  Deadline wake_at_;
  std::uint64_t strangers_ = 0;
  Complaints complaints_;
};

}  // namespace muster::comm
