#include "muster/net/redis/redis_subscriber.h"

#include <array>
#include <utility>

#include "muster/net/errc.h"
#include "muster/runtime/poll.h"

namespace muster::net {

Result<RedisSubscriber> RedisSubscriber::open(const RedisAddress& address, std::string_view channel,
                                              TimePoint deadline) {
  auto connection = RedisConnection::open(address, deadline);
  if (!connection) return fail(connection.error().within(address.description()));
  const auto reply =
      connection->call(std::array<std::string_view, 2>{"SUBSCRIBE", channel}, deadline);
  if (!reply) return fail(reply.error().within(address.description()));
  return RedisSubscriber(*std::move(connection));
}

Result<RedisSubscriber::Woken> RedisSubscriber::wait(TimePoint deadline,
                                                     const Interrupt& interrupt) {
  for (;;) {
    if (interrupt.take()) return Woken::interrupt;
    const auto messages = take_messages();
    if (!messages) return fail(messages.error());
    if (*messages) return Woken::message;
    if (SteadyClock().now() >= deadline) return Woken::deadline;
    std::array slots{pollfd{connection_.socket().get(), POLLIN, 0},
                     pollfd{interrupt.fd(), POLLIN, 0}};
    static_cast<void>(poll_until(slots, deadline));
  }
}

Result<bool> RedisSubscriber::take_messages() {
  bool any = false;
  for (;;) {
    // A deadline that has passed takes what is there and waits for nothing.
    const auto reply = connection_.receive(TimePoint::min());
    if (reply) any = true;
    if (!reply && reply.error().is(Errc::timeout)) return any;
    if (!reply) return fail(reply.error());
  }
}

}  // namespace muster::net
