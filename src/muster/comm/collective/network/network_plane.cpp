#include "muster/comm/collective/network/network_plane.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/comm/errc.h"

namespace muster::comm::collective {
namespace {

// How long a call waits before it tells the others what it is, in case they call something else and
// all wait for each other.
constexpr Duration kTellAfter = std::chrono::milliseconds(50);
// Sequences have 24 bits on the wire.
constexpr std::uint32_t kSequences = 1u << 24;
// Of the calls that are over. A rank that need not wait for others, as a root, may be further
// ahead; then it is the messages of these calls by which others notice.
constexpr std::size_t kRemembered = 1024;

TimePoint now() { return std::chrono::steady_clock::now(); }

std::pair<std::uint64_t, std::uint64_t> words(const Signature& signature) {
  const auto both = std::bit_cast<SignatureWords>(signature);
  return {both[0], both[1]};
}

}  // namespace

/// Something that was started, under the crew's lock.
class NetworkPlane::Pending : public Handle::State, public std::enable_shared_from_this<Pending> {
 public:
  Pending(std::shared_ptr<NetworkPlane> plane, Timeout timeout)
      : plane_(std::move(plane)), timeout_(timeout), due_(after_or_never(now(), timeout)) {
    plane_->next_due_ = std::min(plane_->next_due_, due_);
  }

  Result<void> wait(Timeout timeout) override {
    if (plane_->inherited()) return fail(inherited_error(plane_->options_.group));
    const Door::Visit visit(plane_->door_);
    if (!visit) return result_;
    const TimePoint deadline = after_or_never(now(), timeout);
    Deadline ask_at;
    Crew::Lock lock(plane_->crew_->mutex());
    while (true) {
      plane_->progress();
      if (over_) return result_;
      if (now() >= deadline) return fail(overdue(*timeout));
      if (auto ok = plane_->crew_->wait(lock, deadline, ask_at, plane_->options_.id); !ok)
        return fail(ok.error().within(text()));
    }
  }

  Result<bool> test() override {
    if (plane_->inherited()) return fail(inherited_error(plane_->options_.group));
    const Door::Visit visit(plane_->door_);
    if (!visit) return outcome();
    Crew::Lock lock(plane_->crew_->mutex());
    if (!over_) static_cast<void>(plane_->crew_->wait(lock, now()));
    plane_->progress();
    if (!over_) return false;
    return outcome();
  }

  void cancel() override {
    if (plane_->inherited()) return;
    const Door::Visit visit(plane_->door_);
    if (!visit) return;
    plane_->crew_->with_lock([self = shared_from_this()] {
      if (!self->over_) self->look();
      if (!self->over_) self->give_up(self->given_up());
    });
  }

  [[nodiscard]] Result<bool> outcome() const {
    if (!result_) return fail(result_.error());
    return true;
  }
  [[nodiscard]] std::string_view group() const override { return plane_->options_.group; }
  [[nodiscard]] virtual std::string text() const = 0;
  /// With the lock held: whether it is over by now.
  virtual void look() {}
  /// A rank without which it cannot go on; negative where none is known, or `text` names it.
  [[nodiscard]] virtual int waits_for() const { return -1; }
  void end(Result<void> result) {
    if (over_) return;
    result_ = std::move(result);
    over_ = true;
  }
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] TimePoint due() const { return due_; }
  void give_up_overdue() { give_up(overdue(*timeout_)); }

 protected:
  /// With the lock held: ends it with this error, and the group where others count on it.
  virtual void give_up(Error error) = 0;
  [[nodiscard]] Error overdue(Duration timeout) const {
    const int rank = waits_for();
    return {make_error_code(Errc::timeout),
            fmt::format("{} is not over after {:.1f} s{}", text(),
                        std::chrono::duration<double>(timeout).count(),
                        rank < 0 ? "" : fmt::format(": it waits for rank {}", rank))};
  }
  /// What all ranks are told when it is given up.
  [[nodiscard]] Error given_up() const {
    return {make_error_code(Errc::cancelled),
            fmt::format("rank {} of group '{}' gave up {}", plane_->options_.rank,
                        plane_->options_.group, text())};
  }

  std::shared_ptr<NetworkPlane> plane_;
  Timeout timeout_;
  TimePoint due_;
  Result<void> result_;
  bool over_ = false;
};

class NetworkPlane::Collective final : public Pending {
 public:
  Collective(std::shared_ptr<NetworkPlane> plane, Call call, Slot slot, std::uint16_t earlier,
             Timeout timeout)
      : Pending(std::move(plane), timeout),
        call_(std::move(call)),
        slot_(slot),
        signature_(signature(call_)) {
    signature_.earlier = earlier;
  }

  [[nodiscard]] std::string text() const override { return describe(signature_); }
  [[nodiscard]] int waits_for() const override {
    const auto& queue = plane_->lanes_.at(slot_.tag).queue;
    const Collective& first = queue.empty() ? *this : *queue.front();
    return first.runner_ ? first.runner_->waits_for() : -1;
  }

  [[nodiscard]] Result<bool> advance() {
    runs_ = true;
    auto over = plane_->crew_->call_out([&] { return advance_runner(); });
    runs_ = false;
    return over;
  }
  void stop() {
    if (!runs_) runner_.reset();
  }
  void give_up(Error error) override {
    stop();
    end(fail(std::move(error)));
    plane_->options_.broke(given_up());
  }

  [[nodiscard]] const Slot& slot() const { return slot_; }
  [[nodiscard]] const Signature& its_signature() const { return signature_; }
  /// True once, when it has taken long.
  [[nodiscard]] bool tells() {
    if (told_ || !runner_ || now() - began_ < kTellAfter) return false;
    return told_ = true;
  }

 private:
  [[nodiscard]] Result<bool> advance_runner() {
    try {
      if (!runner_) begin();
      return runner_->advance();
    } catch (const ReductionFailed& problem) {
      return fail(Errc::function_failed,
                  fmt::format("the reduction function of rank {} of group '{}' failed: {}",
                              plane_->options_.rank, plane_->options_.group, problem.what()));
    } catch (const std::exception& problem) {  // out of memory
      return fail(Errc::internal,
                  fmt::format("rank {} of group '{}' cannot go on: {}", plane_->options_.rank,
                              plane_->options_.group, problem.what()));
    }
  }
  void begin() {
    if (const auto& at_step = plane_->crew_->options().at_step) at_step();
    const Place place{plane_->options_.rank, plane_->size(), plane_->options_.hosts};
    runner_.emplace(plane_->wire_, call_, make_schedule(plane_->table_, call_, place), slot_,
                    signature_.earlier);
    began_ = now();
  }

  Call call_;
  Slot slot_;
  Signature signature_;
  std::optional<ScheduleRunner> runner_;  // once it is the first of its tag
  TimePoint began_;
  bool told_ = false;
  bool runs_ = false;  // what is called now may be a function that ends the group
};

class NetworkPlane::Transfer final : public Pending {
 public:
  Transfer(std::shared_ptr<NetworkPlane> plane, Wire::Token token, int peer, Slot slot,
           std::string text, bool receives, Timeout timeout)
      : Pending(std::move(plane), timeout),
        token_(token),
        peer_(peer),
        slot_(slot),
        text_(std::move(text)),
        receives_(receives) {}

  [[nodiscard]] std::string text() const override { return text_; }

  void give_up(Error error) override {
    plane_->wire_.cancel(token_);
    end(fail(std::move(error)));
    std::erase_if(plane_->transfers_, [&](const auto& other) { return other.get() == this; });
    if (receives_) {
      plane_->unused_[{peer_, slot_.tag}].insert(slot_.sequence);
    } else {
      plane_->options_.broke(given_up());  // the other side counts on every message that was begun
    }
  }
  void look() override {
    const auto over = plane_->wire_.finished(token_);
    if (!over) return end(fail(over.error()));
    if (*over) end({});
  }

 private:
  Wire::Token token_;
  int peer_;
  Slot slot_;
  std::string text_;
  bool receives_;
};

NetworkPlane::NetworkPlane(Crew& crew, std::shared_ptr<Door> door, ChoiceTable table,
                           Options options)
    : crew_(&crew),
      door_(std::move(door)),
      table_(std::move(table)),
      options_(std::move(options)),
      wire_(*crew_, options_.id, options_.group, options_.rank, options_.members) {}

NetworkPlane::~NetworkPlane() = default;

Result<std::shared_ptr<Handle::State>> NetworkPlane::start(Call call, int tag, Timeout timeout) {
  Crew::Lock lock(crew_->mutex());
  if (end_) return fail(*end_);
  Lane& lane = lanes_[tag];
  const Slot slot{options_.epoch, static_cast<std::uint8_t>(tag), lane.started++ % kSequences, 0};
  auto collective = std::make_shared<Collective>(shared_from_this(), std::move(call), slot,
                                                 lane.earlier, timeout);
  lane.earlier = earlier_after(collective->its_signature());
  lane.queue.push_back(collective);
  std::erase_if(calling_, [&](const Calling& theirs) {
    if (theirs.tag != tag || theirs.sequence != slot.sequence) return false;
    on_calling(theirs.from, tag, theirs.sequence, theirs.signature);
    return true;
  });
  advance(lane);
  if (!collective->over()) crew_->wake_background();
  return std::shared_ptr<Handle::State>(std::move(collective));
}

Result<std::shared_ptr<Handle::State>> NetworkPlane::send(int to, ByteSpan data, Element element,
                                                          int tag, Timeout timeout) {
  Crew::Lock lock(crew_->mutex());
  if (end_) return fail(*end_);
  Signature signature;
  signature.element = element;
  signature.count = data.size() / item_size(element);
  const Slot slot{options_.epoch, static_cast<std::uint8_t>(tag), sent_[{to, tag}]++ % kSequences,
                  MessageWire::kPointToPoint};
  const auto token = wire_.send(to, slot, signature, data);
  auto transfer = std::make_shared<Transfer>(
      shared_from_this(), token, to, slot,
      fmt::format("sending {} bytes to rank {}", data.size(), to), false, timeout);
  transfers_.push_back(transfer);
  progress();
  return std::shared_ptr<Handle::State>(std::move(transfer));
}

Result<std::shared_ptr<Handle::State>> NetworkPlane::receive(int from, std::span<std::byte> data,
                                                             Element element, int tag,
                                                             Timeout timeout) {
  Crew::Lock lock(crew_->mutex());
  if (end_) return fail(*end_);
  Signature signature;
  signature.element = element;
  signature.count = data.size() / item_size(element);
  const Slot slot{options_.epoch, static_cast<std::uint8_t>(tag), next_to_receive(from, tag),
                  MessageWire::kPointToPoint};
  const auto token = wire_.receive(from, slot, signature, data);
  auto transfer = std::make_shared<Transfer>(
      shared_from_this(), token, from, slot,
      fmt::format("receiving {} bytes from rank {}", data.size(), from), true, timeout);
  transfers_.push_back(transfer);
  progress();
  return std::shared_ptr<Handle::State>(std::move(transfer));
}

std::uint32_t NetworkPlane::next_to_receive(int from, int tag) {
  auto& unused = unused_[{from, tag}];
  if (unused.empty()) return received_[{from, tag}]++ % kSequences;
  return unused.extract(unused.begin()).value();
}

bool NetworkPlane::progress() {
  wire_.progress();
  bool busy = false;
  for (auto& [tag, lane] : lanes_) {
    advance(lane);
    busy = busy || !lane.queue.empty();
  }
  for (const auto& transfer : transfers_) transfer->look();
  std::erase_if(transfers_, [](const auto& transfer) { return transfer->over(); });
  give_up_overdue();
  if (busy) tell_what_is_called();
  return busy || !transfers_.empty();
}

void NetworkPlane::give_up_overdue() {
  if (next_due_ == TimePoint::max() || now() < next_due_) return;
  const TimePoint time = now();
  next_due_ = TimePoint::max();
  std::vector<std::shared_ptr<Pending>> overdue;
  const auto look = [&](const std::shared_ptr<Pending>& pending) {
    if (pending->due() <= time) {
      overdue.push_back(pending);
    } else {
      next_due_ = std::min(next_due_, pending->due());
    }
  };
  for (const auto& [tag, lane] : lanes_) std::for_each(lane.queue.begin(), lane.queue.end(), look);
  std::for_each(transfers_.begin(), transfers_.end(), look);
  // To give up one may end others.
  for (const auto& pending : overdue)
    if (!pending->over()) pending->give_up_overdue();
}

void NetworkPlane::advance(Lane& lane) {
  while (!lane.queue.empty()) {
    const auto first = lane.queue.front();
    if (first->over()) return first->stop();  // it was given up, and the group ends
    auto over = first->advance();
    if (first->over()) return first->stop();  // its function ended the group
    if (over && !*over) return;
    if (!over) {
      first->stop();
      // Ends all that is queued, this one included.
      options_.broke(over.error());
      return;
    }
    lane.queue.pop_front();
    lane.past.emplace_back(first->slot().sequence, first->its_signature());
    if (lane.past.size() > kRemembered) lane.past.pop_front();
    ++lane.finished;
    first->stop();
    first->end({});
  }
}

void NetworkPlane::tell_what_is_called() {
  for (const auto& [tag, lane] : lanes_) {
    if (lane.queue.empty() || !lane.queue.front()->tells()) continue;
    const auto& first = *lane.queue.front();
    const auto [what, count] = words(first.its_signature());
    const nlohmann::json control = {{"group", options_.id}, {"kind", "calling"},
                                    {"tag", tag},           {"sequence", first.slot().sequence},
                                    {"what", what},         {"count", count}};
    for (int rank = 0; rank < size(); ++rank)
      if (rank != options_.rank)
        crew_->send(options_.members[static_cast<std::size_t>(rank)], control);
  }
}

void NetworkPlane::on_calling(int from, int tag, std::uint32_t sequence,
                              const Signature& signature) {
  Lane& lane = lanes_[tag];
  if ((sequence - lane.started) % kSequences < kSequences / 2) {
    if (calling_.size() < 1024) calling_.push_back({from, tag, sequence, signature});
    return;
  }
  const auto own = called(lane, sequence);
  if (!own || *own == signature) return;
  options_.broke(Error(make_error_code(Errc::mismatch),
                       fmt::format("the ranks of group '{}' differ: {}", options_.group,
                                   difference(from, signature, options_.rank, *own))));
}

std::optional<Signature> NetworkPlane::called(const Lane& lane, std::uint32_t sequence) {
  for (const auto& pending : lane.queue)
    if (pending->slot().sequence == sequence) return pending->its_signature();
  for (const auto& [past, signature] : lane.past)
    if (past == sequence) return signature;
  return std::nullopt;
}

FinishedByTag NetworkPlane::finished() const {
  FinishedByTag finished;
  for (const auto& [tag, lane] : lanes_)
    if (lane.finished > 0)
      finished[tag] = {lane.finished, std::bit_cast<SignatureWords>(lane.past.back().second)};
  return finished;
}

void NetworkPlane::end(const Error& error) {
  if (end_) return;
  end_ = error;
  wire_.end(error);
  for (auto& [tag, lane] : lanes_) {
    for (const auto& pending : lane.queue) {
      pending->stop();
      pending->end(fail(error));
    }
    lane.queue.clear();
  }
  for (const auto& transfer : transfers_) transfer->look();
  std::erase_if(transfers_, [](const auto& transfer) { return transfer->over(); });
  crew_->notify();
}

}  // namespace muster::comm::collective
