#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/log.h"
#include "muster/comm/errc.h"
#include "muster/comm/proxy/proxy_impl.h"

// Sending and receiving, by whatever thread calls.

namespace muster::comm {
namespace {

// How often a waiting call asks the program whether to go on.
constexpr Duration kAskEvery = std::chrono::milliseconds(100);

}  // namespace

Result<void> Proxy::Impl::check_open() const {
  if (ended_) return fail(*ended_);
  if (closing_) return fail(Errc::closed, fmt::format("proxy '{}' is closed", self_.name.view()));
  return {};
}

Error Proxy::Impl::explain(Lock& lock, Error error) {
  if (closing_ || !router_->take_forgotten()) return error;
  lock.unlock();
  registrar_->verify();
  lock.lock();
  return ended_ ? *ended_ : error;
}

TimePoint Proxy::Impl::first_ask() const {
  return options_.interrupted ? clock_.now() + kAskEvery : TimePoint{};
}

Result<void> Proxy::Impl::wait(Lock& lock, Deadline until, TimePoint& ask_at) {
  if (!options_.interrupted) {
    pump_->wait(lock, until);
    return {};
  }
  if (clock_.now() < ask_at) {
    pump_->wait(lock, earlier(until, ask_at));
    return {};
  }
  lock.unlock();
  const bool interrupted = options_.interrupted();
  lock.lock();
  ask_at = clock_.now() + kAskEvery;
  if (!interrupted) return {};
  return fail(Errc::interrupted, fmt::format("'{}' was interrupted", self_.name.view()));
}

Result<std::optional<Message>> Proxy::Impl::receive_once(Timeout timeout) {
  Lock lock(mutex_);
  if (router_->inbox_size() == 0) {
    if (auto ok = wait_for_message(lock, timeout); !ok) return fail(std::move(ok).error());
    if (router_->inbox_size() == 0) return std::nullopt;
  }
  return take_front();
}

// Makes the result around the message: an empty one would be zeroed first.
Result<std::optional<Message>> Proxy::Impl::take_front() {
  Result<std::optional<Message>> result(tl::in_place, std::in_place, std::move(router_->front()));
  router_->drop_front();
  return result;
}

Result<void> Proxy::Impl::wait_for_message(Lock& lock, Timeout timeout) {
  const Deadline until = deadline(timeout);
  TimePoint ask_at = first_ask();
  while (true) {
    if (auto ok = check_open(); !ok) return ok;
    if (auto ok = wait(lock, until, ask_at); !ok) return ok;
    if (router_->inbox_size() != 0) return {};
    if (until && clock_.now() >= *until) return check_open();
  }
}

Result<Replies> Proxy::Impl::receive_by_id(std::span<const SessionId> sessions, Timeout timeout) {
  const Deadline until = deadline(timeout);
  Waiter waiter(sessions);
  Lock lock(mutex_);
  router_->add(waiter);
  return wait_for_replies(lock, waiter, until);
}

Result<Replies> Proxy::Impl::wait_for_replies(Lock& lock, Waiter& waiter, Deadline until) {
  TimePoint ask_at = first_ask();
  Result<void> ok;
  for (bool last_look = false; !waiter.done() && !last_look;
       last_look = until && clock_.now() >= *until) {
    if (ok = check_open(); !ok) break;
    if (router_->inbox_full()) {
      ok = fail(Errc::inbox_full,
                fmt::format("'{}' waits for {} replies while {} other messages wait to be "
                            "received; receive them first",
                            self_.name.view(), waiter.missing(), router_->inbox_size()));
      break;
    }
    if (ok = wait(lock, until, ask_at); !ok) break;
  }
  router_->remove(waiter);
  if (!ok && !waiter.done()) {
    router_->give_back(waiter);
    return fail(ok.error());
  }
  return waiter.take();
}

Result<void> Proxy::Impl::wait_for_minimal_peers(Lock& lock, std::string_view type) {
  if (!options_.rejoin.enabled) return {};
  const auto it = options_.rejoin.minimal_peers.find(std::string(type));
  const std::size_t minimum =
      it == options_.rejoin.minimal_peers.end() ? 1 : std::max<std::size_t>(1, it->second);
  const TimePoint until = after(clock_.now(), options_.rejoin.minimal_peers_timeout);
  TimePoint ask_at = first_ask();
  while (router_->count(type) < minimum) {
    if (auto ok = check_open(); !ok) return ok;
    if (clock_.now() >= until) {
      return fail(
          Errc::rejoin_timeout,
          fmt::format(
              "{} of at least {} peers of type '{}' are there after {:.1f} s", router_->count(type),
              minimum, type,
              std::chrono::duration<double>(options_.rejoin.minimal_peers_timeout).count()));
    }
    if (auto ok = wait(lock, until, ask_at); !ok) return ok;
  }
  return {};
}

Result<void> Proxy::Impl::send_prepared(Lock& lock, const Message& message, SessionIds& sessions,
                                        Waiter* waiter) {
  TimePoint until{};
  TimePoint ask_at{};
  while (true) {
    if (ended_ || closing_) [[unlikely]]
      return check_open();
    const std::size_t before = sessions.size();
    const Router::Step step = router_->try_send(message, sessions);
    if (waiter != nullptr) {
      for (std::size_t i = before; i < sessions.size(); ++i) waiter->expect(sessions[i]);
    }
    switch (step) {
      case Router::Step::sent: pump_->after_send(); return {};
      case Router::Step::away: return fail(router_->keep(message));
      case Router::Step::full: break;
    }
    if (until == TimePoint{}) {
      until = after(clock_.now(), options_.send_timeout);
      ask_at = first_ask();
    }
    if (clock_.now() >= until) {
      return fail(
          Errc::would_block,
          fmt::format("the queue to '{}' stayed full for {:.1f} s", message.destination.view(),
                      std::chrono::duration<double>(options_.send_timeout).count()));
    }
    if (auto ok = wait(lock, until, ask_at); !ok) return ok;
  }
}

Result<SessionIds> Proxy::Impl::isend(Message& message, Waiter* waiter) {
  Lock lock(mutex_);
  if (auto ok = router_->prepare(message); !ok) return fail(ok.error());
  if (options_.rejoin.enabled) {
    if (auto ok = wait_for_minimal_peers(lock, router_->type_of(message.destination)); !ok)
      return fail(ok.error());
  }
  SessionIds sessions;
  if (auto ok = send_prepared(lock, message, sessions, waiter); !ok)
    return fail(explain(lock, ok.error()));
  return sessions;
}

Result<SessionIds> Proxy::Impl::iscatter(const Tag& tag, SessionType type,
                                         const DestinationBodies& destinations, Waiter* waiter) {
  std::vector<Message> messages;
  Lock lock(mutex_);
  // Nothing is sent when anything is wrong with any of them.
  for (const auto& [destination, body] : destinations) {
    Message& message = messages.emplace_back();
    message.tag = tag.text;
    message.tag_origin = tag.origin;
    message.destination = destination;
    message.body = body;
    message.session_type = type;
    if (auto ok = router_->prepare(message); !ok) return fail(ok.error());
    if (auto ok = router_->check_room(message); !ok) return fail(ok.error());
  }
  SessionIds sessions;
  for (const Message& message : messages) {
    if (auto ok = wait_for_minimal_peers(lock, router_->type_of(message.destination)); !ok)
      return fail(ok.error());
    const auto sent = send_prepared(lock, message, sessions, waiter);
    if (sent) continue;
    if (!sent.error().is(Errc::pending)) return fail(explain(lock, sent.error()));
    log(LogLevel::warning, "comm", "{}", sent.error().message());
  }
  return sessions;
}

Result<SessionIds> Proxy::Impl::ibroadcast(std::string_view peer_type, const Tag& tag,
                                           SessionType type, const Body& body, Waiter* waiter) {
  Lock lock(mutex_);
  if (auto ok = check_open(); !ok) return fail(ok.error());
  if (auto ok = wait_for_minimal_peers(lock, peer_type); !ok) return fail(ok.error());
  const std::vector<Name> destinations = router_->names(peer_type);
  if (destinations.empty()) {
    std::vector<std::string> types;
    for (const auto& [known, names] : router_->peers())
      types.push_back(fmt::format("{} '{}'", names.size(), known.view()));
    std::string there = types.empty() ? "none at all" : fmt::format("{}", fmt::join(types, ", "));
    return fail(explain(
        lock, {make_error_code(Errc::peers_missing),
               fmt::format("no peer of type '{}' is there; there are {}", peer_type, there)}));
  }
  Message message;
  message.tag = tag.text;
  message.tag_origin = tag.origin;
  message.body = body;
  message.session_type = type;
  SessionIds sessions;
  for (const Name& destination : destinations) {
    message.destination = destination;
    message.message_id = {};
    if (auto ok = router_->prepare(message); !ok) return fail(ok.error());
    const auto sent = send_prepared(lock, message, sessions, waiter);
    // A peer that goes away while others are served is a matter for the replies, not for the
    // broadcast.
    const bool left =
        !sent && (sent.error().is(Errc::pending) || sent.error().is(Errc::peer_connection));
    if (left) log(LogLevel::warning, "comm", "{}", sent.error().message());
    if (!sent && !left) return fail(sent.error());
  }
  return sessions;
}

Result<SessionIds> Proxy::Impl::reply(const Message& message, Tag tag, Body body,
                                      Acknowledge acknowledge) {
  Lock lock(mutex_);
  if (auto ok = check_open(); !ok) return fail(ok.error());
  const SessionStage before = router_->stage_of(message);
  auto reply = router_->make_reply(message, std::move(tag), std::move(body), acknowledge);
  if (!reply) return fail(reply.error());
  SessionIds sessions;
  if (auto ok = send_prepared(lock, *reply, sessions, nullptr); !ok) {
    if (!ok.error().is(Errc::pending)) router_->undo_reply(*reply, before);
    return fail(explain(lock, ok.error()));
  }
  return sessions;
}

Result<WritableBuffer> Proxy::Impl::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (auto ok = check_open(); !ok) return fail(ok.error());
  for (const auto& driver : drivers_) {
    if (driver->name() == "shm") return driver->allocate(bytes);
  }
  return drivers_.front()->allocate(bytes);
}

}  // namespace muster::comm
