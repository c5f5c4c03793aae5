#include "muster/comm/collective/group_impl.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "muster/comm/collective/inside.h"
#include "muster/comm/errc.h"
#include "muster/runtime/mapping.h"

namespace muster::comm {

using collective::Call;
using collective::Inside;
using collective::Signature;
using nlohmann::json;

namespace {

constexpr int kTags = 256;

// Whether all ranks fail with the error of the one that broke the group.
bool concerns_all(const std::error_code& code) {
  return code == Errc::mismatch || code == Errc::cancelled || code == Errc::function_failed ||
         code == Errc::internal;
}

json to_json(const collective::FinishedByTag& finished) {
  json rows = json::array();
  for (const auto& [tag, own] : finished)
    rows.push_back({tag, own.calls, own.last[0], own.last[1]});
  return rows;
}

collective::FinishedByTag finished_of(const json& control) {
  collective::FinishedByTag finished;
  for (const json& row : control.at("finished"))
    finished[row.at(0).get<int>()] = {
        row.at(1).get<std::uint64_t>(),
        {row.at(2).get<std::uint64_t>(), row.at(3).get<std::uint64_t>()}};
  return finished;
}

void put(json& control, const collective::Decision& decision) {
  control["round"] = decision.round;
  control["bits"] = decision.bits;
  control["finished"] = to_json(decision.finished);
  control["ranks"] = decision.ranks;
}

collective::Vote vote_of(const json& control) {
  return {control.at("round").get<std::uint32_t>(), control.at("bits").get<std::uint64_t>(),
          finished_of(control)};
}

collective::Decision decision_of(const json& control) {
  return {control.at("round").get<std::uint32_t>(), control.at("bits").get<std::uint64_t>(),
          finished_of(control), control.at("ranks").get<std::vector<int>>()};
}

/// A call that was over when it was started.
class Over final : public Handle::State {
 public:
  explicit Over(std::string group) : group_(std::move(group)) {}
  [[nodiscard]] std::string_view group() const override { return group_; }
  Result<void> wait(Timeout /*timeout*/) override { return {}; }
  Result<bool> test() override { return true; }
  void cancel() override {}

 private:
  std::string group_;
};

}  // namespace

Group::Impl::Impl(std::shared_ptr<Crew> crew, Identity identity)
    : crew_(crew.get()),
      identity_(std::move(identity)),
      size_(static_cast<int>(identity_.roster.members.size())),
      ballot_(identity_.rank, size_) {
  door_->keep(std::move(crew));
}

Group::Impl::~Impl() {
  if (inherited() || closed_.exchange(true) || !crew_) return;
  if (shared_) shared_->close();
  {
    const std::lock_guard lock(crew_->mutex());
    say_farewell();
  }
  door_->close();
}

Result<void> Group::Impl::usable() const {
  if (inherited()) return fail(inherited_error(identity_.name));
  if (closed_.load(std::memory_order_relaxed)) return fail(closed_error());
  return {};
}

Result<Group::Impl::Visit> Group::Impl::enter() const {
  if (auto ok = usable(); !ok) return fail(ok.error());
  Visit visit(door_);
  if (!visit) return fail(closed_error());
  return visit;
}

Result<Group::Impl::Visit> Group::Impl::enter(std::string_view call) const {
  Inside::refuse_in_reduction(call, identity_.name);
  return enter();
}

Error Group::Impl::closed_error() const {
  return {make_error_code(Errc::closed), fmt::format("group '{}' is closed", identity_.name)};
}

void Group::Impl::check_tag(int tag) {
  if (tag < 0 || tag >= kTags)
    throw std::invalid_argument(
        fmt::format("[Group] tag {} is not between 0 and {}", tag, kTags - 1));
}

void Group::Impl::check_peer(const char* what, int rank) const {
  if (rank < 0 || rank >= size_ || rank == identity_.rank)
    throw std::invalid_argument(
        fmt::format("[{}] rank {} is not another rank of 0 to {}", what, rank, size_ - 1));
}

void Group::Impl::look_into_memory() {
  if (!shared_ || !shared_->broken()) return;
  const std::lock_guard lock(crew_->mutex());
  see_end_in_memory();
}

// ---- Calls

Result<void> Group::Impl::run(const Call& call, const CallOptions& options) {
  if (inherited() || closed_.load(std::memory_order_relaxed)) [[unlikely]]
    return usable();
  check_tag(options.tag);
  collective::check(call, identity_.rank, size_);
  if (size_ == 1) {
    run_alone(call);
    return {};
  }
  if (Inside::reduction()) [[unlikely]]
    Inside::refuse(collective::name(call.operation), identity_.name);
  // Which looks by itself whether the group is closed, and quicker.
  if (shared_ && options.tag == 0) return shared_->run(call, 0, options.timeout);
  const auto visit = enter();
  if (!visit) return fail(visit.error());
  if (shared_) {
    const auto takes = shared_->takes(options.tag);
    if (!takes) return fail(takes.error());
    if (*takes) return shared_->run(call, options.tag, options.timeout);
  }
  look_into_memory();
  auto pending = network_->start(call, options.tag);
  if (!pending) return fail(pending.error());
  Handle handle(*std::move(pending));  // gives it up when it ends otherwise
  return handle.wait(options.timeout);
}

Result<Handle> Group::Impl::start(Call call, const CallOptions& options) {
  const auto visit = enter(collective::name(call.operation));
  if (!visit) return fail(visit.error());
  check_tag(options.tag);
  collective::check(call, identity_.rank, size_);
  if (size_ == 1) {
    run_alone(call);
    return Handle(std::make_shared<Over>(identity_.name));
  }
  const auto takes = shared_ ? shared_->takes(options.tag) : Result<bool>(false);
  if (!takes) return fail(takes.error());
  look_into_memory();
  auto state = *takes ? shared_->start(std::move(call), options.tag, options.timeout)
                      : network_->start(std::move(call), options.tag, options.timeout);
  if (!state) return fail(state.error());
  return Handle(*std::move(state));
}

void Group::Impl::run_alone(const Call& call) const {
  if (call.operation == collective::Operation::barrier || call.in_place()) return;
  const std::size_t count = call.counts.empty() ? call.count : call.counts.front();
  const std::size_t bytes = count * collective::item_size(call.element);
  if (bytes > 0) std::memmove(call.output, call.input, bytes);
}

Result<Handle> Group::Impl::start_send(int to, ByteSpan data, Element element,
                                       const CallOptions& options) {
  const auto visit = enter("send");
  if (!visit) return fail(visit.error());
  check_tag(options.tag);
  check_peer("send", to);
  look_into_memory();
  auto state = network_->send(to, data, element, options.tag, options.timeout);
  if (!state) return fail(state.error());
  return Handle(*std::move(state));
}

Result<Handle> Group::Impl::start_receive(int from, std::span<std::byte> data, Element element,
                                          const CallOptions& options) {
  const auto visit = enter("recv");
  if (!visit) return fail(visit.error());
  check_tag(options.tag);
  check_peer("recv", from);
  look_into_memory();
  auto state = network_->receive(from, data, element, options.tag, options.timeout);
  if (!state) return fail(state.error());
  return Handle(*std::move(state));
}

Result<WritableBuffer> Group::Impl::allocate(std::size_t bytes) {
  const auto visit = enter();
  if (!visit) return fail(visit.error());
  if (shared_) return shared_->segment().allocate(bytes);
  const auto too_much = [&] {
    return fail(system_error(ENOMEM, fmt::format("allocate {} bytes", bytes)));
  };
  if (!has_memory(bytes)) return too_much();
  try {
    auto owner = std::make_shared<std::vector<std::byte>>(bytes);
    const std::span<std::byte> span(*owner);
    return WritableBuffer{span, std::move(owner)};
  } catch (const std::bad_alloc&) {  // this process may not have so much
    return too_much();
  }
}

// ---- What the crew tells

void Group::Impl::on_data(const std::string& from, const Message& message) {
  const int rank = identity_.roster.rank_of(from);
  // What was sent before the rank was lost may be stale.
  if (rank < 0 || ballot_.lost().contains(rank) || !network_) return;
  network_->on_message(rank, message);
}

void Group::Impl::on_control(const std::string& from, const json& control) {
  const int rank = identity_.roster.rank_of(from);
  if (rank < 0 || closed_) return;
  const auto kind = control.at("kind").get<std::string>();
  if (kind == "lost") {
    const bool dead = control.at("dead").get<bool>();
    const int who = control.at("rank").get<int>();
    if (who < 0 || who >= size_) return;
    if (who == identity_.rank) {
      // What a rank says that was itself lost does not count.
      if (!ballot_.lost().contains(rank)) expel();
      return;
    }
    return lose(who, dead);
  }
  if (ballot_.lost().contains(rank)) return;
  if (kind == "left") {
    if (control.contains("round")) post(ballot_.on_decision(rank, decision_of(control)));
    return leave(rank);
  }
  if (kind == "vote") {
    post(ballot_.on_vote(rank, vote_of(control)));
  } else if (kind == "decision") {
    post(ballot_.on_decision(rank, decision_of(control)));
  } else if (kind == "segment") {
    collective::shared::Counter counter;
    counter.socket = control.at("socket").get<std::string>();
    counter.token[0] = control.at("first").get<std::uint64_t>();
    counter.token[1] = control.at("second").get<std::uint64_t>();
    counter_ = std::move(counter);
  } else if (kind == "calling" && network_) {
    const std::array<std::uint64_t, 2> words{control.at("what").get<std::uint64_t>(),
                                             control.at("count").get<std::uint64_t>()};
    network_->on_calling(rank, control.at("tag").get<int>(),
                         control.at("sequence").get<std::uint32_t>(),
                         std::bit_cast<Signature>(words));
  } else if (kind == "broken") {
    const auto code = static_cast<Errc>(control.at("code").get<int>());
    if (concerns_all(make_error_code(code)))
      break_group(Error(make_error_code(code), control.at("text").get<std::string>()));
  }
}

int Group::Impl::rank_of(const std::string& member, std::optional<std::int64_t> pid) const {
  const int rank = identity_.roster.rank_of(member);
  const bool is_it =
      rank >= 0 && (!pid || identity_.roster.hellos[static_cast<std::size_t>(rank)].pid == *pid);
  return is_it ? rank : -1;
}

void Group::Impl::on_exit(const std::string& member, std::int64_t pid) {
  const int rank = rank_of(member, pid);
  if (rank < 0 || closed_) return;
  gone_.insert(rank);
  // Calls in memory see who left by themselves; what it sent before comes first.
  if (!shared_ || ballot_.lost().contains(rank) || shared_->segment().has_left(rank)) return;
  lose(rank, true);
}

void Group::Impl::on_departure(const std::string& member, std::optional<std::int64_t> pid) {
  const int rank = rank_of(member, pid);
  if (rank < 0 || rank == identity_.rank || closed_) return;
  const bool has_left =
      shared_ && !ballot_.lost().contains(rank) && shared_->segment().has_left(rank);
  return has_left ? leave(rank) : lose(rank, pid.has_value());
}

std::optional<Error> Group::Impl::turn_away(const std::string& from, int size,
                                            Duration waited) const {
  if (!identity_.whole_crew || closed_ || size > size_) return std::nullopt;
  // It may come in the place of one that is lost, which is not known at once.
  constexpr Duration kNoticed = std::chrono::milliseconds(300);
  const bool whole = !error_ && ballot_.lost().empty() && gone_.empty();
  const Duration until_known = identity_.roster.on_one_host() ? kNoticed : crew_->options().lease;
  if (!whole || waited < until_known || identity_.roster.rank_of(from) >= 0) return std::nullopt;
  return Error(make_error_code(Errc::group_full),
               fmt::format("group '{}' has its {} ranks already", identity_.name, size_));
}

bool Group::Impl::progress() {
  see_end_in_memory();
  return network_ && network_->progress();
}

void Group::Impl::see_end_in_memory() {
  if (error_ || !shared_ || !shared_->broken()) return;
  error_ = shared_->error();
  network_->end(*error_);
  crew_->notify();
}

void Group::Impl::lose(int rank, bool dead) {
  if (dead) gone_.insert(rank);
  if (ballot_.lost().contains(rank)) return;
  auto messages = ballot_.lose(rank);
  const json verdict = {{"group", identity_.id}, {"kind", "lost"}, {"rank", rank}, {"dead", dead}};
  tell_all(verdict);
  if (!dead)
    crew_->send_for_ever(identity_.roster.members[static_cast<std::size_t>(rank)], verdict);
  if (shared_) shared_->lose(rank);
  if (!error_) error_ = shared_ ? shared_->error() : loss_error();
  if (network_) network_->end(*error_);
  post(messages);
  crew_->notify();
}

void Group::Impl::leave(int rank) {
  gone_.insert(rank);
  auto messages = ballot_.lose(rank);
  if (network_)
    network_->leave(rank, Error(make_error_code(Errc::rank_lost),
                                fmt::format("rank {} left group '{}'", rank, identity_.name)));
  post(messages);
  crew_->notify();
}

void Group::Impl::expel() {
  if (expelled_) return;
  expelled_ = true;
  error_ = Error(make_error_code(Errc::expelled),
                 fmt::format("group '{}' went on without rank {}, which was silent for too long",
                             identity_.name, identity_.rank));
  if (network_) network_->end(*error_);
  if (shared_) shared_->lose(identity_.rank);
  crew_->notify();
}

void Group::Impl::break_group(const Error& error) {
  if (error_) return;
  if (closed_) {
    // The others hear that this rank leaves. What ended the call counts on its end.
    if (network_) network_->end(closed_error());
    return;
  }
  if (shared_) shared_->end_with(error);
  error_ = shared_ ? shared_->error() : error;  // another rank may have ended it before
  if (network_) network_->end(*error_);
  if (concerns_all(error_->code()))
    tell_all({{"kind", "broken"}, {"code", error_->code().value()}, {"text", error_->message()}});
  crew_->notify();
}

void Group::Impl::tell_all(const json& control) {
  json addressed = control;
  addressed["group"] = identity_.id;
  for (int rank = 0; rank < size_; ++rank)
    if (rank != identity_.rank && !gone_.contains(rank))
      crew_->send(identity_.roster.members[static_cast<std::size_t>(rank)], addressed);
}

void Group::Impl::post(const collective::Ballot::Messages& messages) {
  for (const auto& message : messages) {
    json control = {{"group", identity_.id}};
    if (message.vote) {
      control["kind"] = "vote";
      control["round"] = message.vote->round;
      control["bits"] = message.vote->bits;
      control["finished"] = to_json(message.vote->finished);
    } else {
      control["kind"] = "decision";
      put(control, *message.decision);
    }
    crew_->send(identity_.roster.members[static_cast<std::size_t>(message.to)], control);
  }
  if (!messages.empty() || ballot_.decision()) crew_->notify();
}

Error Group::Impl::loss_error() const {
  const auto& lost = ballot_.lost();
  return {make_error_code(Errc::rank_lost),
          fmt::format("rank {} of group '{}' {} lost: killed, paused or cut off",
                      fmt::join(lost, ", "), identity_.name, lost.size() == 1 ? "is" : "are")};
}

std::vector<int> Group::Impl::lost() const {
  if (!crew_ || inherited()) return {};
  Inside::refuse_in_reduction("lost", identity_.name);
  const Visit visit(door_);
  // When it is closed, nobody changes it any more.
  auto lock = visit ? Lock(crew_->mutex()) : Lock();
  return {ballot_.lost().begin(), ballot_.lost().end()};
}

void Group::Impl::close() {
  if (inherited()) return;
  // First: whoever sees that the group is closed, and lets go of handles, gives up nothing.
  if (shared_) shared_->refuse_calls();
  if (closed_.exchange(true) || !crew_) return;
  // Those who still need this rank must not wait for it, the others need not care.
  if (shared_) shared_->close();
  crew_->with_lock([self = shared_from_this()] { self->say_farewell(); });
  // What has called the function may be carrying on the group, or be the crew's own thread.
  if (Inside::any()) return crew_->do_later([self = shared_from_this()] { self->door_->close(); });
  crew_->flush();
  door_->close();
}

void Group::Impl::let_go(std::shared_ptr<Impl> impl) {
  impl->close();
  if (!Inside::any() || !impl->crew_ || impl->inherited()) return;
  if (const Visit visit(impl->door_); visit) {
    Crew& crew = *impl->crew_;
    crew.do_later([kept = std::move(impl)] {});
  }
}

void Group::Impl::say_farewell() {
  json farewell = {{"kind", "left"}};
  // Whoever decided may have died before all knew, and this rank cannot be asked any more.
  if (ballot_.decision()) put(farewell, *ballot_.decision());
  tell_all(farewell);
  if (network_) network_->end(closed_error());
  crew_->remove(identity_.id);
}

}  // namespace muster::comm
