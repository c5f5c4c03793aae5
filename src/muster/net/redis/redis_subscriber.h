#pragma once

#include <string>
#include <string_view>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/net/redis/redis_address.h"
#include "muster/net/redis/redis_connection.h"
#include "muster/runtime/interrupt.h"

namespace muster::net {

/// A connection that listens to one channel. Messages count, not what they say. After a failure it
/// must be dropped. Not thread-safe; another thread ends a wait through the interrupt.
class RedisSubscriber {
 public:
  /// Subscribed when it returns: what is published from now on ends a wait.
  [[nodiscard]] static Result<RedisSubscriber> open(const RedisAddress& address,
                                                    std::string_view channel, TimePoint deadline);

  enum class Woken { message, interrupt, deadline };

  /// Sleeps until a message comes (several count as one), the interrupt is set (it is taken) or the
  /// deadline passes.
  Result<Woken> wait(TimePoint deadline, const Interrupt& interrupt);

 private:
  explicit RedisSubscriber(RedisConnection connection) : connection_(std::move(connection)) {}
  Result<bool> take_messages();

  RedisConnection connection_;
};

}  // namespace muster::net
