#include "muster/comm/proxy/router.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/log.h"
#include "muster/base/suggest.h"
#include "muster/comm/errc.h"
#include "muster/comm/message/record.h"
#include "muster/comm/session/session.h"

namespace muster::comm {
namespace {

// After the kernel says that a process is gone, what it had sent may take this long to come out of
// the sockets.
constexpr Duration kLastWords = std::chrono::milliseconds(50);
// A silent peer is given up for good after this many leases: until then it may resume without loss.
constexpr int kForgetAfterLeases = 20;

// Another host's loopback address would lead to whoever listens there on this one.
bool only_from_its_host(std::string_view address) {
  return address.starts_with("tcp://127.") || address.starts_with("tcp://[::1]") ||
         address.starts_with("ipc://");
}

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
      clock_(clock),
      drivers_(std::move(drivers)),
      inbox_(options_.limits) {}

bool Router::Member::has_retired(InstanceId instance) const {
  return std::find(retired.begin(), retired.end(), instance) != retired.end();
}

// ---- Membership

void Router::update(const std::vector<Entry>& entries) {
  std::vector<bool> seen(peers_.size());
  for (const Entry& entry : entries) {
    if (entry.name == self_.name) continue;
    Member* const member = find(entry.name);
    if (member != nullptr && member->current &&
        peers_[member->current->value()].entry.instance == entry.instance) {
      Peer& peer = peers_[member->current->value()];
      peer.listed = true;
      seen[member->current->value()] = true;
      resume(peer);
    } else if (const auto id = admit(entry)) {
      peers_[id->value()].listed = true;
    }
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    Peer& peer = peers_[i];
    if (seen[i] || !peer.listed || peer.state != State::there || peer.departs_at) continue;
    // Not yet: what it sent before it left may not have been taken.
    ++departing_;
    peer.departs_at = clock_.now() + kLastWords;
    peer.fades = true;
  }
}

std::optional<PeerId> Router::on_hello(const Entry& entry) {
  if (entry.name == self_.name) return std::nullopt;
  Member* const member = find(entry.name);
  if (member != nullptr && member->current &&
      peers_[member->current->value()].entry.instance == entry.instance) {
    resume(peers_[member->current->value()]);
    return member->current;
  }
  // A knock may have been on its way for longer than its sender lived.
  if (member != nullptr && member->current &&
      entry.born < peers_[member->current->value()].entry.born) {
    return std::nullopt;
  }
  return admit(entry);
}

std::optional<PeerId> Router::admit(const Entry& entry) {
  auto& slot = members_[entry.name];
  if (!slot) slot = std::make_unique<Member>(entry.name, entry.type);
  Member& member = *slot;
  if (member.has_retired(entry.instance)) return std::nullopt;
  const bool returns = member.lives > 0;
  if (returns && options_.rejoin.enabled && member.lives > options_.rejoin.max_rejoins) {
    log(LogLevel::error, "comm", "'{}' came back more than {} times and is not taken back",
        entry.name.view(), options_.rejoin.max_rejoins);
    member.retired.push_back(entry.instance);
    return std::nullopt;
  }
  Driver* const driver = choose_driver(entry);
  if (driver == nullptr) {
    log(LogLevel::error, "comm",
        "'{}' cannot be reached: it offers {}, and none of them works from here; "
        "between hosts, set MUSTER_SECRET so that peers listen on the network",
        entry.name.view(), fmt::join(entry.addresses, ", "));
    return std::nullopt;
  }
  const PeerId id(static_cast<std::uint32_t>(peers_.size()));
  if (auto connected = driver->connect(id, entry); !connected) {
    log(LogLevel::warning, "comm", "connecting '{}': {}", entry.name.view(),
        connected.error().message());
    return std::nullopt;
  }
  if (member.current) depart(*member.current, Retire::yes, "a new process took its name");
  peers_.push_back(Peer{.entry = entry, .member = &member, .driver = driver});
  member.type = entry.type;
  member.current = id;
  ++member.lives;
  if (returns) ++counters_.rejoins;
  ++membership_version_;
  unwatched_.push_back(id);
  unanswered_.push_back(id);
  note_answers();
  return id;
}

Driver* Router::choose_driver(const Entry& entry) const {
  for (Driver* const driver : drivers_) {
    const std::string_view name = driver->name();
    if (!entry.addresses.contains(std::string(name))) continue;
    if (name == "inproc" && entry.process != self_.process) continue;
    if (name == "shm" && entry.host != self_.host) continue;
    if (entry.host != self_.host && only_from_its_host(entry.addresses.at(std::string(name))))
      continue;
    return driver;
  }
  return nullptr;
}

void Router::resume(Peer& peer) {
  if (std::exchange(peer.fades, false)) {
    peer.departs_at.reset();
    --departing_;
  }
  if (peer.state != State::silent) return;
  peer.state = State::there;
  peer.departs_at.reset();
  --departing_;
  ++counters_.rejoins;
  ++membership_version_;
}

void Router::silence(PeerId id, const std::string& why) {
  Peer& peer = peers_[id.value()];
  peer.state = State::silent;
  peer.fades = false;
  peer.reason = why;
  if (!peer.departs_at) ++departing_;
  peer.departs_at = clock_.now() + kForgetAfterLeases * options_.lease;
  ++membership_version_;
  report_lost(id);
  log(LogLevel::info, "comm", "'{}': peer '{}' is silent: {}", self_.name.view(),
      peer.member->name.view(), why);
}

void Router::process_exited(PeerId id) {
  Peer& peer = peers_[id.value()];
  if (peer.state == State::gone) return;
  if (!peer.departs_at) ++departing_;
  peer.departs_at = clock_.now() + kLastWords;
  peer.fades = false;
  peer.retire = Retire::yes;
  peer.reason = "its process ended";
}

void Router::on_departure(PeerId id, Departure departure, const std::string& why) {
  Peer& peer = peers_[id.value()];
  if (peer.state == State::gone) return;
  if (departure != Departure::silent) {
    return depart(id, departure == Departure::reset ? Retire::no : Retire::yes, why);
  }
  if (peer.state == State::there) silence(id, why);
}

void Router::note_answers() {
  std::erase_if(unanswered_, [&](PeerId id) {
    Peer& peer = peers_[id.value()];
    if (peer.state == State::gone) return true;
    if (!peer.driver->established(id)) return false;
    peer.answered = true;
    peer.member->met = true;
    ++membership_version_;
    return true;
  });
}

void Router::depart_when_due() {
  if (departing_ == 0) return;
  const TimePoint now = clock_.now();
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (!peers_[i].departs_at || *peers_[i].departs_at > now) continue;
    if (std::exchange(peers_[i].fades, false)) {
      silence(PeerId(static_cast<std::uint32_t>(i)), "it left the group or its lease ran out");
    } else {
      depart(PeerId(static_cast<std::uint32_t>(i)), peers_[i].retire,
             std::string(peers_[i].reason));
    }
  }
}

void Router::depart(PeerId id, Retire retire, const std::string& why) {
  Peer& peer = peers_[id.value()];
  if (peer.departs_at) --departing_;
  peer.departs_at.reset();
  peer.fades = false;
  peer.state = State::gone;
  peer.reason = why;
  Member& member = *peer.member;
  if (member.current == id) member.current.reset();
  if (retire == Retire::yes) member.retired.push_back(peer.entry.instance);
  ++membership_version_;
  log(LogLevel::info, "comm", "'{}': peer '{}' is gone: {}", self_.name.view(), member.name.view(),
      why);
  keep_undelivered(id);
  peer.driver->disconnect(id);
  report_lost(id);
}

void Router::keep_undelivered(PeerId id) {
  if (!options_.rejoin.enabled || !options_.rejoin.cache_messages) return;
  Peer& peer = peers_[id.value()];
  auto& kept = peer.member->kept;
  std::vector<Message> undelivered = peer.driver->take_undelivered(id);
  const std::size_t room =
      options_.rejoin.cache_length - std::min(kept.size(), options_.rejoin.cache_length);
  if (undelivered.size() > room) {
    log(LogLevel::error, "comm", "{} messages on their way to '{}' are lost: its cache holds {}",
        undelivered.size() - room, peer.member->name.view(), options_.rejoin.cache_length);
    undelivered.erase(undelivered.begin(), undelivered.end() - static_cast<std::ptrdiff_t>(room));
  }
  for (const Message& message : undelivered) kept_replies_ += is_reply(message) ? 1 : 0;
  kept.insert(kept.begin(), std::make_move_iterator(undelivered.begin()),
              std::make_move_iterator(undelivered.end()));
}

void Router::report_lost(PeerId id) {
  const Name& name = peers_[id.value()].member->name;
  const auto sessions = sessions_.lose(id);
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
}

std::vector<std::pair<PeerId, std::int64_t>> Router::take_watchable() {
  std::vector<std::pair<PeerId, std::int64_t>> watchable;
  for (const PeerId id : unwatched_) {
    const Entry& entry = peers_[id.value()].entry;
    const bool visible = entry.host == self_.host && entry.pid_namespace == self_.pid_namespace &&
                         entry.process != self_.process;
    if (visible) watchable.emplace_back(id, entry.pid);
  }
  unwatched_.clear();
  return watchable;
}

Router::Member* Router::find(std::string_view name) const {
  if (last_found_ != nullptr && last_found_->name == name) return last_found_;
  const auto it = members_.find(name);
  if (it == members_.end()) return nullptr;
  last_found_ = it->second.get();
  return last_found_;
}

const Router::Peer* Router::there(const Member& member) const {
  if (!member.current) return nullptr;
  const Peer& peer = peers_[member.current->value()];
  return peer.state == State::there ? &peer : nullptr;
}

bool Router::shown(const Member& member) const {
  const Peer* const peer = there(member);
  return peer != nullptr && peer->answered;
}

bool Router::is_gone(PeerId peer) const { return peers_[peer.value()].state == State::gone; }

std::map<Name, std::vector<Name>> Router::peers() const {
  std::map<Name, std::vector<Name>> result;
  for (const auto& [name, member] : members_) {
    if (shown(*member)) result[member->type].push_back(name);
  }
  for (auto& [type, names] : result) std::sort(names.begin(), names.end());
  return result;
}

Name Router::type_of(std::string_view name) const {
  const Member* const member = find(name);
  return member == nullptr ? Name() : member->type;
}

InstanceId Router::instance_of(std::string_view name) const {
  const Member* const member = find(name);
  if (member == nullptr || !member->current) return {};
  return peers_[member->current->value()].entry.instance;
}

std::size_t Router::count(std::string_view type) const { return names(type).size(); }

std::size_t Router::count_met(std::string_view type) const {
  return static_cast<std::size_t>(std::count_if(
      members_.begin(), members_.end(),
      [&](const auto& item) { return item.second->type == type && item.second->met; }));
}

std::vector<Name> Router::names(std::string_view type) const {
  std::vector<Name> result;
  for (const auto& [name, member] : members_) {
    if (member->type == type && shown(*member)) result.push_back(name);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::string Router::known_names() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) names.push_back(name.str());
  std::sort(names.begin(), names.end());
  if (names.empty()) return "no peer is known yet";
  constexpr std::size_t kShown = 8;
  const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  return fmt::format("known: {}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

// ---- Sending

Result<void> Router::prepare(Message& message) {
  if (find(message.destination) == nullptr) {
    std::vector<std::string> names;
    for (const auto& [name, member] : members_) names.push_back(name.str());
    const std::string meant = nearest(message.destination, names);
    return fail(Errc::peers_missing,
                fmt::format("no peer is named '{}'{}; {}", message.destination.view(),
                            meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant),
                            known_names()));
  }
  if (auto ok = check_encodable(message); !ok) return ok;
  message.source = self_.name;
  if (!message.session_id.valid()) message.session_id = {self_.instance, ++last_session_};
  if (!message.message_id.valid()) message.message_id = {self_.instance, ++last_message_};
  return {};
}

Router::Step Router::try_send(const Message& message, SessionIds& sessions) {
  Member& member = *find(message.destination);
  if (there(member) == nullptr) return Step::away;
  const PeerId id = *member.current;
  Driver& driver = *peers_[id.value()].driver;
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
    if (is_reply(member.kept.front())) --kept_replies_;
    member.kept.pop_front();
    if (options_.faults.flush_cache_last && member.kept.empty()) return Step::sent;
  }
  const auto status = send_one(message);
  return status == SendStatus::sent ? Step::sent : step(status);
}

Result<void> Router::check_room(const Message& message) const {
  const Member& member = *find(message.destination);
  const RejoinOptions& rejoin = options_.rejoin;
  if (there(member) != nullptr || !rejoin.enabled || !rejoin.cache_messages) return {};
  if (member.kept.size() < rejoin.cache_length) return {};
  return fail(cache_full(member.name, rejoin.cache_length));
}

Error Router::keep(const Message& message) {
  Member& member = *find(message.destination);
  const auto error = [](Errc errc, std::string text) {
    return Error(make_error_code(errc), std::move(text));
  };
  if (!options_.rejoin.enabled) {
    return error(Errc::peer_connection,
                 fmt::format("peer '{}' is gone, and rejoin is not enabled", member.name.view()));
  }
  if (!options_.rejoin.cache_messages) {
    return error(
        Errc::pending,
        fmt::format("peer '{}' is away; the message was not kept, because messages are not cached",
                    member.name.view()));
  }
  if (auto room = check_room(message); !room) return room.error();
  const bool known = std::any_of(member.kept.begin(), member.kept.end(), [&](const Message& kept) {
    return kept.message_id == message.message_id;
  });
  if (!known) {
    member.kept.push_back(message);
    member.kept.back().body = message.body.kept();
    if (is_reply(message)) ++kept_replies_;
  }
  return error(Errc::pending,
               fmt::format("peer '{}' is away; the message is kept for it", member.name.view()));
}

// Requests wait for the next call that sends to the peer, which then also waits for their replies.
// Somebody waits for a reply already, and there may never be a next call.
void Router::send_kept_replies() {
  if (kept_replies_ == 0) return;
  for (const auto& [name, member] : members_) {
    if (member->kept.empty() || there(*member) == nullptr) continue;
    const PeerId id = *member->current;
    Driver& driver = *peers_[id.value()].driver;
    std::erase_if(member->kept, [&](const Message& message) {
      if (!is_reply(message) || driver.send(id, message) != SendStatus::sent) return false;
      --kept_replies_;
      ++counters_.sent;
      return true;
    });
  }
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

bool Router::drained() const {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i].state == State::there &&
        !peers_[i].driver->drained(PeerId(static_cast<std::uint32_t>(i))))
      return false;
  }
  return true;
}

// ---- Receiving

std::size_t Router::poll() {
  std::size_t delivered = 0;
  for (Driver* const driver : drivers_)
    delivered += driver->poll(*this, inbox_.full() ? Intake::closed : Intake::open);
  if (!unanswered_.empty()) note_answers();
  depart_when_due();
  send_kept_replies();
  return delivered;
}

void Router::control() {
  for (Driver* const driver : drivers_) driver->on_control(*this);
}

void Router::on_message(PeerId from, Message&& message) {
  Peer& peer = peers_[from.value()];
  if (peer.state == State::gone) return;
  if (peer.state == State::silent) resume(peer);
  message.source = peer.member->name;
  message.destination = self_.name;
  if (sessions_.arrive(message, from) == Arrival::duplicate) {
    ++counters_.duplicates;
    return;
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
  TimePoint earliest = TimePoint::max();
  const auto consider = [&](const Deadline& due) {
    if (due && *due < earliest) earliest = *due;
  };
  for (const Driver* const driver : drivers_) consider(driver->next_wakeup());
  if (departing_ != 0) {
    for (const Peer& peer : peers_) consider(peer.departs_at);
  }
  return earliest == TimePoint::max() ? Deadline() : Deadline(earliest);
}

ProxyCounters Router::counters() const {
  ProxyCounters total = counters_;
  for (const Driver* const driver : drivers_) {
    const DriverCounters one = driver->counters();
    total.drivers.malformed += one.malformed;
    total.drivers.strangers += one.strangers;
    total.drivers.stale += one.stale;
  }
  return total;
}

}  // namespace muster::comm
