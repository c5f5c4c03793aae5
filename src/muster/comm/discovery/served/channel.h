#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/discovery/served/wire.h"
#include "muster/comm/driver/zmq/credentials.h"
#include "muster/comm/driver/zmq/socket.h"
#include "muster/runtime/interrupt.h"

namespace muster::comm::served {

/// One connection to a `StoreServer`. It is made again by itself; a request that was under way then
/// is sent once more, so requests must be such that twice is harmless. Not thread-safe.
class Channel {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Channel>> open(const ZmqContext& context,
                                                             const std::string& address,
                                                             const ZmqCredentials& credentials);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  /// The answer without its id, or nothing at the deadline or when `interrupt` (if there is one) is
  /// set; `Errc::refused` when the server does not let us in. `sooner`: a deadline that others may
  /// move while this waits.
  [[nodiscard]] Result<std::optional<Parts>> ask(Parts request, TimePoint deadline,
                                                 const Interrupt* interrupt = nullptr,
                                                 const std::atomic<TimePoint>* sooner = nullptr);

  /// That the last `ask` saw a handshake fail.
  [[nodiscard]] bool rejected() const { return rejected_; }

  void abandon();

 private:
  Channel() = default;

  void note_events(const Parts& under_way);

  ZmqSocket socket_;
  ZmqSocket monitor_;
  std::uint64_t last_id_ = 0;
  bool broken_ = false;    // the connection ended and is not there again
  bool rejected_ = false;  // no handshake has succeeded since one failed
  bool denied_ = false;    // … because of who we are
};

}  // namespace muster::comm::served
