#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "muster/comm/collective/formation.h"
#include "muster/comm/collective/group_impl.h"
#include "muster/comm/errc.h"
#include "muster/runtime/host.h"

namespace muster::comm {

using collective::Decision;
using collective::Roster;
using nlohmann::json;

namespace {

TimePoint now() { return std::chrono::steady_clock::now(); }

TimePoint deadline_of(Timeout timeout, Duration otherwise) {
  return after(now(), timeout.value_or(otherwise));
}

// What ranks vote on after they have made a smaller group.
constexpr std::uint64_t kMade = 1;
constexpr std::uint64_t kMayGoOn = 2;

// Whether a group could not be made because of another rank, which was lost or could not.
bool is_of_others(const std::error_code& code) {
  return code == Errc::rank_lost || code == Errc::cancelled;
}

std::uint64_t derived_id(std::uint64_t id, std::uint64_t kind, std::uint64_t number) {
  std::uint64_t mixed = id;
  for (const std::uint64_t word : {kind, number}) {
    mixed ^= word + 0x9E3779B97F4A7C15ull;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
    mixed ^= mixed >> 31;
  }
  return mixed;
}

Shrunk shrunk(Group group, std::vector<int> lost, const collective::FinishedByTag& finished) {
  Shrunk shrunk{std::move(group), std::move(lost), 0, {}, {}};
  for (const auto& [tag, calls] : finished)
    shrunk.by_tag[tag] = {calls.calls, describe(std::bit_cast<collective::Signature>(calls.last))};
  if (const auto plain = shrunk.by_tag.find(0); plain != shrunk.by_tag.end()) {
    shrunk.finished = plain->second.calls;
    shrunk.last = plain->second.last;
  }
  return shrunk;
}

Roster part_of(const Roster& roster, const std::vector<int>& ranks) {
  Roster part;
  for (const int rank : ranks) {
    part.members.push_back(roster.members[static_cast<std::size_t>(rank)]);
    part.hellos.push_back(roster.hellos[static_cast<std::size_t>(rank)]);
  }
  return part;
}

}  // namespace

std::shared_ptr<Group::Impl> Group::Impl::solo(std::string name) {
  Identity identity;
  identity.name = std::move(name);
  identity.roster.members = {"self"};
  identity.roster.hellos.resize(1);
  return std::make_shared<Impl>(nullptr, std::move(identity));
}

Result<std::shared_ptr<Group::Impl>> Group::Impl::make(std::shared_ptr<Crew> crew,
                                                       Identity identity, TimePoint deadline) {
  // In a child process the crew's threads do not exist: there the group is let go of as it is.
  std::shared_ptr<Impl> impl(std::make_unique<Impl>(std::move(crew), std::move(identity)).release(),
                             [](Impl* group) {
                               if (!group->inherited()) std::default_delete<Impl>()(group);
                             });
  if (auto ok = impl->establish(deadline); !ok) {
    const std::lock_guard lock(impl->crew_->mutex());
    impl->break_group(Error(make_error_code(Errc::cancelled),
                            fmt::format("rank {} could not make group '{}': {}", impl->rank(),
                                        impl->identity_.name, ok.error().message())));
    return fail(ok.error());
  }
  return impl;
}

Result<void> Group::Impl::establish(TimePoint deadline) {
  const auto& table = crew_->table();
  if (!table) return fail(table.error());
  collective::NetworkPlane::Options options;
  options.group = identity_.name;
  options.id = identity_.id;
  options.epoch = static_cast<std::uint16_t>(identity_.epoch);
  options.rank = identity_.rank;
  options.members = identity_.roster.members;
  options.hosts = identity_.roster.hosts();
  options.broke = [this](const Error& error) { break_group(error); };
  network_ = std::make_shared<collective::NetworkPlane>(*crew_, door_, *table, options);
  {
    const std::lock_guard lock(crew_->mutex());
    const auto& [members, hellos, digest] = identity_.roster;
    for (std::size_t rank = 0; rank < members.size(); ++rank)
      crew_->watch(members[rank], hellos[rank]);
    crew_->add(identity_.id, *this, nullptr);
    // Who was gone before anybody told this group.
    const auto there = crew_->peers();
    for (int rank = 0; rank < size_; ++rank) {
      const auto& member = identity_.roster.members[static_cast<std::size_t>(rank)];
      if (rank != identity_.rank && !there.contains(member)) lose(rank, false);
    }
  }
  const Plane wanted = crew_->options().plane;
  if (wanted == Plane::network || size_ == 1) return {};
  if (!identity_.roster.on_one_host()) {
    if (wanted == Plane::automatic) return {};
    return fail(Errc::driver_type,
                fmt::format("the ranks of group '{}' are on different hosts: they cannot share "
                            "memory",
                            identity_.name));
  }
  return identity_.rank == 0 ? hand_out_segment(deadline) : fetch_segment(deadline);
}

Result<void> Group::Impl::still_whole(const std::vector<int>& awaited, TimePoint deadline,
                                      Duration moment) {
  Lock lock(crew_->mutex());
  if (auto ok = crew_->wait(lock, now() + moment); !ok) return ok;
  // Who has left was done with its part before.
  if (error_) return fail(*error_);
  if (now() < deadline) return {};
  return fail(Errc::timeout, fmt::format("rank {} of group '{}' did not share memory in time",
                                         fmt::join(awaited, ", "), identity_.name));
}

Result<void> Group::Impl::hand_out_segment(TimePoint deadline) {
  using collective::shared::Handover;
  using collective::shared::Segment;
  auto made = Segment::create(size_);
  auto handover = made ? Handover::open(*std::move(made), size_) : fail(made.error());
  // Without memory the others are told so, and all go by messages.
  const collective::shared::Counter counter =
      handover ? handover->counter() : collective::shared::Counter{};
  {
    const std::lock_guard lock(crew_->mutex());
    tell_all({{"kind", "segment"},
              {"socket", counter.socket},
              {"first", counter.token[0]},
              {"second", counter.token[1]}});
  }
  if (!handover) {
    if (crew_->options().plane == Plane::automatic) return {};
    return fail(handover.error());
  }
  while (!handover->serve(std::chrono::milliseconds(2)))
    if (auto ok = still_whole(handover->waiting_for(), deadline); !ok) return ok;
  return map_segment(handover->take_segment(), deadline);
}

Result<void> Group::Impl::map_segment(FileDescriptor fd, TimePoint deadline) {
  const auto& at_step = crew_->options().at_step;
  if (at_step) at_step();
  auto segment = collective::shared::Segment::map(std::move(fd), identity_.rank, size_);
  if (!segment) return fail(segment.error());
  // Nobody is told when these come true. Many that look often would keep each other from it.
  Duration moment = std::chrono::milliseconds(1);
  const auto longer = [](Duration pause) {
    return std::min<Duration>(pause * 3 / 2, std::chrono::milliseconds(20));
  };
  using collective::shared::Stage;
  for (auto away = (*segment)->missing(Stage::here); !away.empty();
       away = (*segment)->missing(Stage::here), moment = longer(moment))
    if (auto ok = still_whole(away, deadline, moment); !ok) return ok;
  if (at_step) at_step();
  (*segment)->try_reading();
  while (!(*segment)->all_have_tried()) {
    const auto ok = still_whole((*segment)->missing(Stage::tried), deadline, moment);
    moment = longer(moment);
    // Those that found all of them there may have done their part and left by now.
    if (!ok && !(*segment)->all_have_tried()) return ok;
  }
  use_segment(*std::move(segment));
  return {};
}

Result<void> Group::Impl::fetch_segment(TimePoint deadline) {
  {
    Lock lock(crew_->mutex());
    while (!counter_) {
      if (auto ok = crew_->wait(lock, deadline); !ok) return ok;
      if (counter_) break;
      if (error_) return fail(*error_);
      if (now() >= deadline)
        return fail(Errc::timeout, fmt::format("rank 0 of group '{}' did not share memory in time",
                                               identity_.name));
    }
  }
  if (counter_->socket.empty()) {
    if (crew_->options().plane == Plane::automatic) return {};
    return fail(Errc::driver_type, "rank 0 could not make shared memory");
  }
  auto fd = collective::shared::fetch_segment(
      *counter_, identity_.rank, [&](Duration pause) { return still_whole({0}, deadline, pause); });
  if (!fd) return fail(fd.error());
  return map_segment(*std::move(fd), deadline);
}

void Group::Impl::use_segment(std::shared_ptr<collective::shared::Segment> segment) {
  collective::shared::SharedPlane::Options options;
  options.group = identity_.name;
  options.interrupted = crew_->options().interrupted;
  options.at_step = crew_->options().at_step;
  options.lease = crew_->options().lease;
  options.door = door_;
  options.wake_background = [crew = crew_->weak_from_this()] {
    if (const auto there = crew.lock()) there->wake_background();
  };
  options.do_later = [crew = crew_->weak_from_this()](std::function<void()> work) {
    if (const auto there = crew.lock()) there->do_later(std::move(work));
  };
  // All ranks have tried whether they can read each other's memory before anybody counts on it.
  options.lends = segment->ranks_can_read_each_other();
  options.ways = crew_->table()->ways();
  const std::lock_guard lock(crew_->mutex());
  shared_ =
      std::make_shared<collective::shared::SharedPlane>(std::move(segment), std::move(options));
  crew_->add(identity_.id, *this, shared_);
  // What became of the group meanwhile: why it has ended, and who was lost.
  if (expelled_) shared_->lose(identity_.rank);
  if (error_ && !error_->is(Errc::rank_lost)) shared_->end_with(*error_);
  for (const int rank : ballot_.lost())
    if (!shared_->segment().has_left(rank)) shared_->lose(rank);
}

// ---- Agreement

collective::FinishedByTag Group::Impl::finished() const {
  // Tags for which memory has no channel go by messages.
  auto all = network_->finished();
  if (shared_) all.merge(shared_->finished());
  return all;
}

Result<Decision> Group::Impl::vote(Lock& lock, std::uint64_t bits, TimePoint deadline) {
  post(ballot_.begin(bits, finished()));
  Deadline ask_at;
  while (true) {
    const std::vector<int> lost = shared_ ? shared_->lost() : std::vector<int>();
    if (std::find(lost.begin(), lost.end(), identity_.rank) != lost.end()) expel();
    // Before any decision: who is out finds all others gone, and would agree with itself.
    if (expelled_ && error_) return fail(*error_);
    if (ballot_.decision()) return *ballot_.decision();
    if (closed_) return fail(closed_error());
    if (now() >= deadline)
      return fail(Errc::timeout,
                  fmt::format("the ranks of group '{}' did not agree in time", identity_.name));
    if (auto ok = crew_->wait(lock, deadline, ask_at); !ok) return fail(ok.error());
  }
}

Result<Group::Agreement> Group::Impl::agree(std::uint64_t bits, Timeout timeout) {
  const auto visit = enter("agree");
  if (!visit) return fail(visit.error());
  if (!crew_) return Agreement{bits, {0}};
  Lock lock(crew_->mutex());
  auto decision = vote(lock, bits, deadline_of(timeout, crew_->options().join_timeout));
  if (!decision) return fail(decision.error());
  return Agreement{decision->bits, std::move(decision->ranks)};
}

bool Group::Impl::outnumbered(const std::vector<int>& here) const {
  if (crew_->options().minority_may_shrink) return false;
  const std::vector<int> hosts = identity_.roster.hosts();
  std::set<int> reached;
  for (const int rank : here) reached.insert(hosts[static_cast<std::size_t>(rank)]);
  const auto is_here = [&](int rank) {
    return std::find(here.begin(), here.end(), rank) != here.end();
  };
  // Ranks that may go on by themselves where we cannot see them.
  std::size_t away = 0;
  for (int rank = 0; rank < size_; ++rank) {
    const bool seen =
        gone_.contains(rank) || reached.contains(hosts[static_cast<std::size_t>(rank)]);
    if (!is_here(rank) && !seen) ++away;
  }
  return here.size() < away || (here.size() == away && !is_here(0));
}

Error Group::Impl::not_all_could() const {
  return {make_error_code(Errc::cancelled),
          fmt::format("not all ranks of group '{}' could make the smaller one", identity_.name)};
}

Result<Shrunk> Group::Impl::shrink(Timeout timeout) {
  const auto visit = enter("shrink");
  if (!visit) return fail(visit.error());
  if (!crew_) return fail(Errc::rank_lost, "a group of one has nobody to lose");
  const TimePoint deadline = deadline_of(timeout, crew_->options().join_timeout);
  Lock lock(crew_->mutex());
  while (true) {
    auto decision = vote(lock, 1, deadline);
    if (!decision) return fail(decision.error());
    // Only now it is certain who is left; whether those may go on is decided by all of them.
    const auto verdict = vote(lock, outnumbered(decision->ranks) ? 0 : 1, deadline);
    if (!verdict) return fail(verdict.error());
    if (verdict->ranks != decision->ranks) continue;
    if ((verdict->bits & 1) == 0)
      return fail(Errc::rank_lost,
                  fmt::format("only {} of {} ranks of group '{}' are left here, and the others may "
                              "go on without them",
                              decision->ranks.size(), size_, identity_.name));
    const std::vector<int>& ranks = decision->ranks;
    const auto own = std::find(ranks.begin(), ranks.end(), identity_.rank);
    if (own == ranks.end()) {
      expel();
      return fail(*error_);
    }
    Identity identity = identity_;
    identity.id = derived_id(identity_.id, 1, decision->round);
    identity.epoch = identity_.epoch + 1;
    identity.rank = static_cast<int>(own - ranks.begin());
    identity.roster = part_of(identity_.roster, ranks);
    lock.unlock();
    auto made = make(crew_->shared_from_this(), std::move(identity), deadline);
    lock.lock();
    const bool may_go_on = made || is_of_others(made.error().code());
    auto whole = vote(lock, (made ? kMade : 0) | (may_go_on ? kMayGoOn : 0), deadline);
    if (!whole) {
      lock.unlock();  // what was made needs it to leave
      return fail(whole.error());
    }
    if ((whole->bits & kMade) != 0 && whole->ranks == ranks) {
      std::vector<int> lost;
      for (int rank = 0; rank < size_; ++rank)
        if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) lost.push_back(rank);
      return shrunk(Group(*std::move(made)), std::move(lost), whole->finished);
    }
    Error error = made ? (*made)->error_.value_or(not_all_could()) : made.error();
    lock.unlock();
    made = fail(Errc::internal, "");  // lets go of what was made, without the lock
    lock.lock();
    // Nobody was lost: who could not take part could not the next time either.
    if (whole->ranks == ranks && (whole->bits & kMayGoOn) == 0) return fail(std::move(error));
  }
}

Result<std::shared_ptr<Group::Impl>> Group::Impl::grow(int newcomers, Timeout timeout) {
  const auto visit = enter("grow");
  if (!visit) return fail(visit.error());
  if (newcomers < 1)
    throw std::invalid_argument(fmt::format("[grow] {} newcomers; at least 1", newcomers));
  if (!crew_ || !identity_.whole_crew)
    return fail(Errc::refused, fmt::format("group '{}' cannot grow: only one that was joined can",
                                           identity_.name));
  const TimePoint deadline = deadline_of(timeout, crew_->options().join_timeout);
  collective::FormationOptions options;
  options.size = size_ + newcomers;
  options.rank = identity_.rank;
  options.epoch = identity_.epoch;
  for (int rank = 0; rank < size_; ++rank)
    options.old_ranks[identity_.roster.members[static_cast<std::size_t>(rank)]] = rank;
  options.ended = [this] {
    see_end_in_memory();
    return closed_ ? closed_error() : error_;
  };
  Lock lock(crew_->mutex());
  if (auto error = options.ended()) return fail(*std::move(error));
  auto formed = collective::form(*crew_, lock, options, deadline);
  lock.unlock();
  if (!formed) return fail(formed.error());
  Identity identity{identity_.name, formed->id, formed->epoch,
                    formed->roster.rank_of(crew_->self()), formed->roster};
  return make(crew_->shared_from_this(), std::move(identity), deadline);
}

Result<std::shared_ptr<Group::Impl>> Group::Impl::split(int color, int key,
                                                        const CallOptions& options) {
  const auto visit = enter("split");
  if (!visit) return fail(visit.error());
  const std::string name = fmt::format("{}/{}", identity_.name, color);
  if (!crew_) return solo(name);
  const std::array<std::int32_t, 2> own{color, key};
  std::vector<std::int32_t> all(2 * static_cast<std::size_t>(size_));
  Call call;
  call.operation = collective::Operation::allgather;
  call.element = Element::i32;
  call.count = own.size();
  call.input = reinterpret_cast<const std::byte*>(own.data());
  call.output = reinterpret_cast<std::byte*>(all.data());
  if (auto ok = run(call, options); !ok) return fail(ok.error());
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(crew_->mutex());
    number = ++splits_;
  }
  if (color < 0) return solo(name);
  std::vector<std::pair<int, int>> ranks;  // by key, then rank
  for (int rank = 0; rank < size_; ++rank) {
    const auto at = 2 * static_cast<std::size_t>(rank);
    if (all[at] == color) ranks.emplace_back(all[at + 1], rank);
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<int> members;
  for (const auto& [its_key, rank] : ranks) members.push_back(rank);
  const auto self = std::find(members.begin(), members.end(), identity_.rank);
  Identity identity{name,
                    derived_id(identity_.id, 2 + number, static_cast<std::uint64_t>(color)),
                    identity_.epoch,
                    static_cast<int>(self - members.begin()),
                    part_of(identity_.roster, members),
                    false};
  return make(crew_->shared_from_this(), std::move(identity),
              deadline_of(options.timeout, crew_->options().join_timeout));
}

}  // namespace muster::comm
