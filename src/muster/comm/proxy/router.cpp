#include "muster/comm/proxy/router.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/comm/errc.h"
#include "muster/comm/message/record.h"
#include "muster/comm/session/session.h"

namespace muster::comm {
namespace {

// Its place in the inbox may stay for long, and its body may be a block of the sender's memory.
void drop(Message& message) { message.body = Body(); }

bool is_reply(const Message& message) { return message.session_stage != SessionStage::request; }

Error cache_full(const Name& peer, std::size_t length) {
  return {
      make_error_code(Errc::would_block),
      fmt::format("peer '{}' is away, and its cache of {} messages is full", peer.view(), length)};
}

}  // namespace

Router::Router(const Entry& self, RouterOptions options, const Clock& clock,
               std::vector<Driver*> drivers)
    : self_(self),
      options_(std::move(options)),
      drivers_(std::move(drivers)),
      members_(self, {options_.rejoin, options_.lease}, clock, drivers_, *this),
      inbox_(options_.limits) {}

// ---- What becomes of the messages of a peer that leaves

void Router::on_leaving(const Peer& peer) {
  if (!options_.rejoin.enabled || !options_.rejoin.cache_messages) return;
  auto& kept = peer.member->kept;
  std::vector<Message> undelivered = peer.driver->take_undelivered(peer.id);
  const std::size_t room =
      options_.rejoin.cache_length - std::min(kept.size(), options_.rejoin.cache_length);
  if (undelivered.size() > room) {
    log(LogLevel::error, "comm", "{} messages on their way to '{}' are lost: its cache holds {}",
        undelivered.size() - room, peer.member->name.view(), options_.rejoin.cache_length);
    undelivered.erase(undelivered.begin(), undelivered.end() - static_cast<std::ptrdiff_t>(room));
  }
  note_kept_replies(*peer.member, std::count_if(undelivered.begin(), undelivered.end(), is_reply));
  kept.insert(kept.begin(), std::make_move_iterator(undelivered.begin()),
              std::make_move_iterator(undelivered.end()));
}

void Router::on_forgotten(Member& member) {
  if (!member.kept.empty()) {
    log(LogLevel::warning, "comm", "'{}' did not come back: {} messages that were kept are dropped",
        member.name.view(), member.kept.size());
  }
  owed_.erase(&member);
}

void Router::note_kept_replies(Member& member, std::ptrdiff_t more) {
  member.kept_replies += static_cast<std::size_t>(more);
  if (member.kept_replies == 0) {
    owed_.erase(&member);
  } else {
    owed_.insert(&member);
  }
}

void Router::on_lost(const Peer& peer) {
  const Name& name = peer.member->name;
  const auto sessions = sessions_.lose(peer.id, name);
  if (options_.faults.forget_lost_sessions) return;
  for (const SessionId& session : sessions) {
    const auto waiting = std::find_if(waiters_.begin(), waiters_.end(),
                                      [&](const Waiter* waiter) { return waiter->wants(session); });
    if (waiting != waiters_.end()) {
      (*waiting)->lose(session, name);
    } else {
      // A program that never asks must not make this grow: what is told late is told wrongly rather
      // than never.
      if (lost_.size() >= SessionTable::kMaxOpenTasks) lost_.clear();
      lost_[session].push_back(name);
    }
  }
  for (Waiter* const waiter : waiters_) tell_lost(*waiter);
}

void Router::tell_lost(Waiter& waiter) {
  if (!sessions_.has_lost()) return;
  for (const SessionId& session : waiter.missing_sessions()) {
    while (waiter.wants(session)) {
      const auto peer = sessions_.take_lost(session);
      if (!peer) break;
      waiter.lose(session, *peer);
    }
  }
}

// ---- Sending

Result<void> Router::prepare(Message& message) {
  if (members_.find(message.destination) == nullptr)
    return fail(Errc::peers_missing, members_.unknown(message.destination.view()));
  if (!plainly_encodable(message)) {
    if (auto ok = check_encodable(message); !ok) return ok;
  }
  message.source = self_.name;
  if (!message.session_id.valid()) message.session_id = {self_.instance, ++last_session_};
  if (!message.message_id.valid()) message.message_id = {self_.instance, ++last_message_};
  return {};
}

Router::Step Router::try_send(const Message& message, SessionIds& sessions) {
  Member& member = *members_.find(message.destination);
  const Peer* const peer = Membership::there(member);
  if (peer == nullptr) return reply_to_silent(member, message, sessions);
  const PeerId id = peer->id;
  Driver& driver = *peer->driver;
  const auto send_one = [&](const Message& one) {
    if (one.session_stage == SessionStage::request && !sessions_.open(one, id).has_value())
      return SendStatus::full;
    const SendStatus status = driver.send(id, one);
    if (status == SendStatus::sent) {
      sessions.push_back(one.session_id);
      ++counters_.sent;
    } else if (one.session_stage == SessionStage::request) {
      sessions_.cancel(one, id);
    }
    return status;
  };
  const auto step = [](SendStatus status) {
    return status == SendStatus::full ? Step::full : Step::away;
  };
  if (options_.faults.flush_cache_last && !member.kept.empty()) {
    if (const auto status = send_one(message); status != SendStatus::sent) return step(status);
  }
  while (!member.kept.empty()) {
    if (const auto status = send_one(member.kept.front()); status != SendStatus::sent)
      return step(status);
    if (is_reply(member.kept.front())) note_kept_replies(member, -1);
    member.kept.pop_front();
    if (options_.faults.flush_cache_last && member.kept.empty()) return Step::sent;
  }
  const auto status = send_one(message);
  return status == SendStatus::sent ? Step::sent : step(status);
}

Router::Step Router::reply_to_silent(const Member& member, const Message& reply,
                                     SessionIds& sessions) {
  const Peer* const peer = member.current;
  if (peer == nullptr || !is_reply(reply) ||
      peer->driver->send(peer->id, reply) != SendStatus::sent)
    return Step::away;
  sessions.push_back(reply.session_id);
  ++counters_.sent;
  return Step::sent;
}

Result<void> Router::check_room(const Message& message) const {
  const Member& member = *members_.find(message.destination);
  const RejoinOptions& rejoin = options_.rejoin;
  if (Membership::there(member) != nullptr || !rejoin.enabled || !rejoin.cache_messages) return {};
  if (member.kept.size() < rejoin.cache_length) return {};
  return fail(cache_full(member.name, rejoin.cache_length));
}

Error Router::keep(const Message& message) {
  Member& member = *members_.find(message.destination);
  const auto error = [](Errc errc, std::string text) {
    return Error(make_error_code(errc), std::move(text));
  };
  if (!options_.rejoin.enabled) {
    return error(Errc::peer_connection, Membership::absence_of(member) +
                                            "; rejoin is not enabled, so nothing is kept for it");
  }
  if (!options_.rejoin.cache_messages) {
    return error(Errc::pending, Membership::absence_of(member) +
                                    "; the message was not kept, because messages are not cached");
  }
  if (auto room = check_room(message); !room) return room.error();
  const bool known = std::any_of(member.kept.begin(), member.kept.end(), [&](const Message& kept) {
    return kept.message_id == message.message_id;
  });
  if (!known) {
    member.kept.push_back(message);
    member.kept.back().body = message.body.kept();
    if (is_reply(message)) note_kept_replies(member, 1);
  }
  return error(Errc::pending, Membership::absence_of(member) + "; the message is kept for it");
}

// Requests wait for the next call that sends to the peer, which then also waits for their replies.
// Somebody waits for a reply already, and there may never be a next call.
void Router::send_kept_replies() {
  if (owed_.empty() || replies_tried_at_ == members_.version()) return;
  bool all_sent = true;
  for (Member* const member : std::vector(owed_.begin(), owed_.end())) {
    const Peer* const peer = Membership::there(*member);
    if (peer == nullptr) continue;
    const auto sent = std::erase_if(member->kept, [&](const Message& message) {
      return is_reply(message) && peer->driver->send(peer->id, message) == SendStatus::sent;
    });
    counters_.sent += sent;
    note_kept_replies(*member, -static_cast<std::ptrdiff_t>(sent));
    all_sent = all_sent && member->kept_replies == 0;
  }
  // The others wait for somebody to come.
  if (all_sent) replies_tried_at_ = members_.version();
}

Result<Message> Router::make_reply(const Message& message, Tag tag, Body body,
                                   Acknowledge acknowledge) {
  Message reply;
  if (tag.empty()) tag = Tag(message.tag, message.tag_origin);
  reply.tag = std::move(tag.text);
  reply.tag_origin = std::move(tag.origin);
  reply.destination = message.source;
  reply.body = std::move(body);
  reply.session_id = message.session_id;
  reply.session_type = message.session_type;
  reply.session_stage = reply_stage(message.session_type, acknowledge == Acknowledge::yes);
  if (auto ok = prepare(reply); !ok) return fail(ok.error());
  if (auto ok = sessions_.reply(reply); !ok) {
    return fail(ok.error().within(
        fmt::format("reply to '{}' from '{}'", message.tag.view(), message.source.view())));
  }
  return reply;
}

void Router::flush() {
  for (Driver* const driver : drivers_) driver->flush();
}

bool Router::drained() const { return members_.drained(); }

// ---- Receiving

std::size_t Router::poll() {
  std::size_t delivered = 0;
  for (Driver* const driver : drivers_)
    delivered += driver->poll(*this, inbox_.full() ? Intake::closed : Intake::open);
  members_.poll();
  send_kept_replies();
  return delivered;
}

void Router::control() {
  for (Driver* const driver : drivers_) driver->on_control(*this);
}

void Router::on_message(PeerId from, Message&& message) {
  Membership::Peer* const peer = members_.find(from);
  if (peer == nullptr) return drop(message);
  if (peer->state == Membership::State::silent) members_.resume(*peer);
  message.source = peer->member->name;
  message.destination = self_.name;
  if (sessions_.arrive(message, from) == Arrival::duplicate) {
    ++counters_.duplicates;
    return drop(message);
  }
  ++counters_.received;
  for (Waiter* const waiter : waiters_) {
    if (waiter->offer(message)) return;
  }
  inbox_.push(std::move(message));
}

void Router::add(Waiter& waiter) {
  for (const SessionId& session : waiter.missing_sessions()) {
    while (waiter.wants(session)) {
      auto message = inbox_.take(session);
      if (!message) break;
      waiter.offer(*message);
    }
    if (lost_.empty()) continue;
    if (const auto it = lost_.find(session); it != lost_.end()) {
      for (const Name& name : it->second) waiter.lose(session, name);
      lost_.erase(it);
    }
  }
  tell_lost(waiter);
  waiters_.push_back(&waiter);
}

void Router::remove(Waiter& waiter) { std::erase(waiters_, &waiter); }

void Router::give_back(Waiter& waiter) {
  Replies replies = waiter.take();
  for (Message& message : replies.messages) inbox_.push(std::move(message));
  for (std::size_t i = 0; i < replies.lost.size(); ++i) {
    lost_[waiter.lost_sessions()[i]].push_back(replies.lost[i]);
  }
}

Deadline Router::next_wakeup() const {
  Deadline next = members_.next_wakeup();
  for (const Driver* const driver : drivers_) next = earlier(next, driver->next_wakeup());
  return next;
}

void Router::close() {
  counters_ = counters();
  drivers_.clear();
  members_.close();
}

ProxyCounters Router::counters() const {
  ProxyCounters total = counters_;
  total.rejoins = members_.rejoins();
  for (const Driver* const driver : drivers_) {
    const DriverCounters one = driver->counters();
    total.drivers.malformed += one.malformed;
    total.drivers.strangers += one.strangers;
    total.drivers.stale += one.stale;
  }
  return total;
}

}  // namespace muster::comm
