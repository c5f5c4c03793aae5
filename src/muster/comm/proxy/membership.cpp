#include "muster/comm/proxy/membership.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/log.h"
#include "muster/base/suggest.h"

namespace muster::comm {
namespace {

// After the kernel says that a process is gone, what it had sent may take this long to come out of
// the sockets.
constexpr Duration kLastWords = std::chrono::milliseconds(50);
// A silent peer is given up for good after this many leases: until then it may resume without loss.
constexpr int kForgetAfterLeases = 20;
// Names that are generated anew for every process come for months. Of those that left, so many are
// known by name, and so many by the instance that may not come back; the store lists a dead one no
// longer than its lease, in which fewer die.
constexpr std::size_t kMostAbsent = 4096;
constexpr std::size_t kMostRetired = 8192;

// Another host's loopback address would lead to whoever listens there on this one.
bool only_from_its_host(std::string_view address) {
  return address.starts_with("tcp://127.") || address.starts_with("tcp://[::1]") ||
         address.starts_with("ipc://") || address.starts_with("ucx://local/");
}

}  // namespace

Membership::Membership(const Entry& self, Options options, const Clock& clock,
                       std::vector<Driver*> drivers, Listener& listener)
    : self_(self),
      options_(std::move(options)),
      clock_(clock),
      drivers_(std::move(drivers)),
      listener_(listener) {}

// ---- Who comes and who goes

void Membership::update(const std::vector<Entry>& entries) {
  ++last_update_;
  for (const Entry& entry : entries) {
    if (entry.name == self_.name) continue;
    Member* const member = find(entry.name);
    Peer* peer = member != nullptr ? member->current : nullptr;
    if (peer != nullptr && peer->entry.instance == entry.instance) {
      resume(*peer);
    } else if (peer != nullptr && younger_than_list(*peer)) {
      continue;  // the next list tells who has the name
    } else {
      peer = admit(entry);
    }
    if (peer == nullptr) continue;
    peer->listed = true;
    peer->update = last_update_;
  }
  for (const auto& [id, peer] : peers_) {
    if (!peer->listed || peer->update == last_update_) continue;
    if (peer->state != State::there || peer->departs_at) continue;
    // Not yet: what it sent before it left may not have been taken.
    set_departure(*peer, clock_.now() + kLastWords);
    peer->fades = true;
  }
}

// A list is asked for after the one before it was applied, and a peer is registered before it
// knocks.
bool Membership::younger_than_list(const Peer& peer) const {
  return !peer.listed && peer.met_after + 1 == last_update_;
}

std::optional<PeerId> Membership::on_hello(const Entry& entry) {
  if (entry.name == self_.name) return std::nullopt;
  const Member* const member = find(entry.name);
  Peer* const current = member != nullptr ? member->current : nullptr;
  if (current != nullptr && current->entry.instance == entry.instance) {
    resume(*current);
    return current->id;
  }
  // A knock may have been on its way for longer than its sender lived, and even for longer than
  // that is remembered. Who lives is taken when the store shows it.
  if (current != nullptr && entry.born < current->entry.born) return std::nullopt;
  if (entry.born <= forgotten_birth_) return std::nullopt;
  const Peer* const admitted = admit(entry);
  return admitted != nullptr ? std::optional(admitted->id) : std::nullopt;
}

Membership::Peer* Membership::admit(const Entry& entry) {
  if (retired_.contains(entry.instance)) return nullptr;
  Member* member = find(entry.name);
  const bool returns = member != nullptr && member->lives > 0;
  if (returns && options_.rejoin.enabled && member->lives > options_.rejoin.max_rejoins) {
    log(LogLevel::error, "comm", "'{}' came back more than {} times and is not taken back",
        entry.name.view(), options_.rejoin.max_rejoins);
    retire(entry);
    return nullptr;
  }
  Driver* const driver = choose_driver(entry);
  if (driver == nullptr) {
    log(LogLevel::error, "comm",
        "'{}' cannot be reached: it offers {}, and none of them works from here; "
        "between hosts, set MUSTER_SECRET so that peers listen on the network",
        entry.name.view(), fmt::join(entry.addresses, ", "));
    return nullptr;
  }
  const PeerId id(next_peer_++);
  if (auto connected = driver->connect(id, entry); !connected) {
    log(LogLevel::warning, "comm", "connecting '{}': {}", entry.name.view(),
        connected.error().message());
    return nullptr;
  }
  if (member == nullptr) {
    auto& slot = members_[entry.name];
    slot = std::make_unique<Member>(entry.name, entry.type);
    member = slot.get();
  }
  if (member->current != nullptr)
    depart(*member->current, Retire::yes, "a new process took its name");
  auto& peer = peers_[id];
  peer = std::make_unique<Peer>(Peer{
      .id = id, .entry = entry, .member = member, .driver = driver, .met_after = last_update_});
  member->type = entry.type;
  member->current = peer.get();
  ++member->lives;
  if (returns) ++rejoins_;
  ++version_;
  unwatched_.push_back(id);
  unanswered_.push_back(id);
  note_answers();
  return member->current;
}

Driver* Membership::choose_driver(const Entry& entry) const {
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

void Membership::set_departure(Peer& peer, Deadline at) {
  if (peer.departs_at) departures_.erase({*peer.departs_at, peer.id});
  peer.departs_at = at;
  if (at) departures_.emplace(*at, peer.id);
}

void Membership::resume(Peer& peer) {
  if (peer.exited) return;
  if (std::exchange(peer.fades, false)) set_departure(peer, {});
  if (peer.state != State::silent) return;
  peer.state = State::there;
  set_departure(peer, {});
  ++rejoins_;
  ++version_;
}

void Membership::silence(Peer& peer, const std::string& why) {
  peer.state = State::silent;
  peer.fades = false;
  peer.reason = why;
  // Had it ended, that would be known.
  if (watchable(peer.entry)) {
    peer.reason +=
        fmt::format("; its process {} on this host still runs: it is paused or starved of CPU time",
                    peer.entry.pid);
  }
  set_departure(peer, clock_.now() + kForgetAfterLeases * options_.lease);
  ++version_;
  listener_.on_lost(peer);
  log(LogLevel::info, "comm", "'{}': peer '{}' is silent: {}", self_.name.view(),
      peer.member->name.view(), peer.reason);
}

void Membership::process_exited(PeerId id) {
  Peer* const peer = find(id);
  if (peer == nullptr) return;
  set_departure(*peer, clock_.now() + kLastWords);
  peer->exited = true;
  peer->fades = false;
  peer->retire = Retire::yes;
  peer->reason = "its process ended";
}

void Membership::on_departure(PeerId id, Departure departure, const std::string& why) {
  Peer* const peer = find(id);
  if (peer == nullptr) return;
  if (departure != Departure::silent) {
    if (departure == Departure::graceful) peer->member->met = true;  // it knew whom to tell
    forgotten_ = forgotten_ || departure == Departure::reset;
    return depart(*peer, departure == Departure::reset ? Retire::no : Retire::yes, why);
  }
  if (peer->state == State::there && !peer->exited) silence(*peer, why);
}

void Membership::note_answers() {
  std::erase_if(unanswered_, [&](PeerId id) {
    Peer* const peer = find(id);
    if (peer == nullptr) return true;
    if (!peer->driver->established(id)) return false;
    peer->answered = true;
    peer->member->met = true;
    ++version_;
    return true;
  });
}

void Membership::depart_when_due() {
  if (departures_.empty()) return;
  const TimePoint now = clock_.now();
  while (!departures_.empty() && departures_.begin()->first <= now) {
    Peer& peer = *find(departures_.begin()->second);
    if (std::exchange(peer.fades, false)) {
      silence(peer, "it did not renew its lease");
    } else {
      depart(peer, peer.retire, std::string(peer.reason));
    }
  }
}

void Membership::depart(Peer& departing, Retire retire, const std::string& why) {
  note_answers();  // it may have come and gone since the last look
  set_departure(departing, {});
  const auto peer = std::move(peers_.extract(departing.id).mapped());
  last_peer_ = nullptr;
  Member& member = *peer->member;
  member.current = nullptr;
  member.reason = why;
  if (retire == Retire::yes) this->retire(peer->entry);
  ++version_;
  log(LogLevel::info, "comm", "'{}': peer '{}' is gone: {}", self_.name.view(), member.name.view(),
      why);
  listener_.on_leaving(*peer);
  peer->driver->disconnect(peer->id);
  listener_.on_lost(*peer);
  note_absence(member);
}

void Membership::retire(const Entry& entry) {
  if (!retired_.insert(entry.instance).second) return;
  retired_order_.emplace_back(entry.instance, entry.born);
  if (retired_order_.size() <= kMostRetired) return;
  const auto [instance, born] = retired_order_.front();
  retired_order_.pop_front();
  retired_.erase(instance);
  forgotten_birth_ = std::max(forgotten_birth_, born);
}

void Membership::note_absence(Member& member) {
  member.departure = ++last_departure_;
  absent_.emplace_back(member.name, member.departure);
  if (absent_.size() <= kMostAbsent) return;
  const auto [name, departure] = std::move(absent_.front());
  absent_.pop_front();
  Member* const oldest = find(name);
  if (oldest == nullptr || oldest->current != nullptr || oldest->departure != departure) return;
  forget(*oldest);
}

void Membership::forget(Member& member) {
  listener_.on_forgotten(member);
  last_found_ = nullptr;
  members_.erase(Name(member.name));
}

void Membership::poll() {
  if (!unanswered_.empty()) note_answers();
  depart_when_due();
}

Deadline Membership::next_wakeup() const {
  return departures_.empty() ? Deadline{} : Deadline(departures_.begin()->first);
}

void Membership::close() {
  drivers_.clear();
  departures_.clear();
  for (const auto& [id, peer] : peers_) peer->member->current = nullptr;
  peers_.clear();
  last_peer_ = nullptr;
  ++version_;
}

// ---- Who is there

std::vector<std::pair<PeerId, Entry>> Membership::take_watchable() {
  std::vector<std::pair<PeerId, Entry>> watchable;
  for (const PeerId id : unwatched_) {
    const Peer* const peer = find(id);
    if (peer != nullptr && this->watchable(peer->entry)) watchable.emplace_back(id, peer->entry);
  }
  unwatched_.clear();
  return watchable;
}

bool Membership::watchable(const Entry& entry) const {
  return entry.host == self_.host && entry.pid_namespace == self_.pid_namespace &&
         entry.process != self_.process;
}

Membership::Member* Membership::look_up(std::string_view name) const {
  const auto it = members_.find(name);
  if (it == members_.end()) return nullptr;
  last_found_ = it->second.get();
  return last_found_;
}

Membership::Peer* Membership::look_up(PeerId id) const {
  const auto it = peers_.find(id);
  if (it == peers_.end()) return nullptr;
  last_peer_ = it->second.get();
  return last_peer_;
}

bool Membership::shown(const Member& member) {
  const Peer* const peer = there(member);
  return peer != nullptr && peer->answered;
}

std::size_t Membership::remembered() const {
  return members_.size() + peers_.size() + retired_.size();
}

std::map<Name, std::vector<Name>> Membership::peers() const {
  std::map<Name, std::vector<Name>> result;
  for (const auto& [name, member] : members_) {
    if (shown(*member)) result[member->type].push_back(name);
  }
  for (auto& [type, names] : result) std::sort(names.begin(), names.end());
  return result;
}

std::vector<Name> Membership::silent() const {
  std::vector<Name> names;
  for (const auto& [id, peer] : peers_)
    if (peer->state == State::silent && peer->answered) names.push_back(peer->member->name);
  return names;
}

Name Membership::type_of(std::string_view name) const {
  const Member* const member = look_up(name);
  return member == nullptr ? Name() : member->type;
}

InstanceId Membership::instance_of(std::string_view name) const {
  const Member* const member = look_up(name);
  if (member == nullptr || member->current == nullptr) return {};
  return member->current->entry.instance;
}

std::size_t Membership::count(std::string_view type) const {
  // Asked for every message when rejoin is enabled.
  if (counted_at_ != version_) {
    counts_.clear();
    for (const auto& [id, peer] : peers_) {
      if (shown(*peer->member)) ++counts_[peer->member->type];
    }
    counted_at_ = version_;
  }
  const auto found = counts_.find(type);
  return found == counts_.end() ? 0 : found->second;
}

std::size_t Membership::count_met(std::string_view type) const {
  return static_cast<std::size_t>(std::count_if(
      members_.begin(), members_.end(),
      [&](const auto& item) { return item.second->type == type && item.second->met; }));
}

std::vector<Name> Membership::names(std::string_view type) const {
  std::vector<Name> result;
  for (const auto& [name, member] : members_) {
    if (member->type == type && shown(*member)) result.push_back(name);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> Membership::known_names() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) names.push_back(name.str());
  std::sort(names.begin(), names.end());
  return names;
}

std::string Membership::unknown(std::string_view name) const {
  std::vector<std::string> names = known_names();
  const std::string meant = nearest(name, names);
  constexpr std::size_t kShown = 8;
  const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  const std::string known = names.empty()
                                ? "no peer is known yet"
                                : fmt::format("known: {}{}", fmt::join(names, ", "),
                                              more > 0 ? fmt::format(" and {} more", more) : "");
  return fmt::format("no peer is named '{}'{}; {}", name,
                     meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant), known);
}

std::string Membership::absence_of(const Member& member) {
  const Peer* const peer = member.current;
  const bool silent = peer != nullptr && peer->state == State::silent;
  const std::string& reason = peer != nullptr ? peer->reason : member.reason;
  return fmt::format("peer '{}' is {}{}", member.name.view(),
                     silent ? "silent and may come back" : "gone",
                     reason.empty() ? "" : fmt::format(" ({})", reason));
}

bool Membership::drained() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const auto& item) {
    const Peer& peer = *item.second;
    return peer.state != State::there || peer.driver->drained(peer.id);
  });
}

}  // namespace muster::comm
