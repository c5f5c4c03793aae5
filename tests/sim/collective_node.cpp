#include "tests/sim/collective_node.h"

#include <cstring>
#include <iterator>

#include "muster/comm/errc.h"

namespace muster::sim {
namespace {

const std::string kGroup = "ranks";
constexpr Duration kLease = std::chrono::seconds(3);
constexpr Duration kLookEvery = std::chrono::milliseconds(100);
constexpr std::uint64_t kGivenUp = UINT64_MAX;  // instead of a slot
using Attempt = comm::collective::Outbox::Attempt;

}  // namespace

CollectiveNode::CollectiveNode(int rank, int size, testing::FrameNetwork& network,
                               const Clock& clock, std::shared_ptr<comm::MemoryBoard> board,
                               CollectiveFaults faults)
    : rank_(rank),
      size_(size),
      faults_(faults),
      clock_(clock),
      self_(comm::local_entry(name_of(rank), "rank")),
      doorbell_(*Doorbell::create()),
      store_(std::move(board)),
      outbox_([this](const std::string& to, const std::string&) {
        const Attempt attempt = post(to, kGivenUp, {});
        return faults_.tell_once ? Attempt::sent : attempt;
      }) {
  self_.instance = comm::InstanceId(static_cast<std::uint64_t>(rank) + 1);
  self_.host = "host of " + name_of(rank);
  self_.process = name_of(rank);
  self_.born = rank + 1;
  self_.pid = rank + 1;
  comm::LinkOptions options;
  options.lease = kLease;
  options.connected_lease = kLease;
  driver_ = std::make_unique<comm::LinkDriver>(comm::DriverContext{.self = self_,
                                                                   .group = kGroup,
                                                                   .doorbell = *doorbell_,
                                                                   .clock = clock,
                                                                   .security = {},
                                                                   .limits = {},
                                                                   .lease = kLease},
                                               network.transport(name_of(rank)), options);
  self_.addresses["memory"] = driver_->address();
  comm::RouterOptions router_options;
  router_options.lease = kLease;
  router_ = std::make_unique<comm::Router>(self_, router_options, clock,
                                           std::vector<comm::Driver*>{driver_.get()});
}

bool CollectiveNode::sees_all() const {
  return router_->count("rank") == static_cast<std::size_t>(size_ - 1);
}

void CollectiveNode::step() {
  const TimePoint now = clock_.now();
  if (now >= renew_at_) {
    static_cast<void>(store_.put(kGroup, self_, kLease));
    renew_at_ = now + kLease / 3;
  }
  if (now >= look_at_) {
    router_->update(*store_.list(kGroup));
    look_at_ = now + kLookEvery;
  }
  router_->poll();
  take_messages();
  notice_departures();
  outbox_.retry();
  if (runner_ && !outcome_) {
    wire_.progress();
    const Result<bool> done = runner_->advance();
    wire_.progress();
    if (!done) outcome_ = false;
    if (done && *done) outcome_ = true;
  }
  router_->flush();
}

Deadline CollectiveNode::next_event() const {
  return earlier(earlier(renew_at_, look_at_), router_->next_wakeup());
}

void CollectiveNode::begin(const comm::collective::Call& call, comm::collective::Schedule schedule,
                           std::uint32_t sequence) {
  outcome_.reset();
  runner_ = std::make_unique<comm::collective::ScheduleRunner>(wire_, call, std::move(schedule),
                                                               Slot{1, 0, sequence, 0});
}

void CollectiveNode::notice_departures() {
  met_all_ = met_all_ || sees_all();
  if (!met_all_ || faults_.forget_departures) return;
  if (!lost_ && !sees_all()) {
    // As the group does: a rank that gives up tells all others, which may not have noticed.
    for (int rank = 0; rank < size_; ++rank)
      if (rank != rank_) outbox_.post(name_of(rank), {});
    lost_ = true;
  }
  if (!lost_ || !runner_ || outcome_) return;
  runner_->cancel();
  outcome_ = false;
}

Attempt CollectiveNode::post(std::string to, std::uint64_t slot, ByteSpan data) {
  std::vector<std::byte> bytes(sizeof slot + data.size());
  std::memcpy(bytes.data(), &slot, sizeof slot);
  if (!data.empty()) std::memcpy(bytes.data() + sizeof slot, data.data(), data.size());
  comm::Message message;
  message.tag = "transfer";
  message.destination = to;
  message.body = comm::Body::bytes(Buffer::take(std::move(bytes)));
  message.session_type = comm::SessionType::notification;
  if (!router_->prepare(message)) return Attempt::refused;
  comm::SessionIds sessions;
  switch (router_->try_send(message, sessions)) {
    case comm::Router::Step::sent: return Attempt::sent;
    case comm::Router::Step::full: return Attempt::full;
    case comm::Router::Step::away: break;
  }
  return Attempt::away;
}

void CollectiveNode::take_messages() {
  while (auto message = router_->pop()) {
    const ByteSpan bytes = message->body.buffer().bytes();
    std::uint64_t slot = 0;
    std::memcpy(&slot, bytes.data(), sizeof slot);
    if (slot == kGivenUp) {
      lost_ = !faults_.forget_departures;
      continue;
    }
    if (faults_.ignore_slots) slot = 0;
    const int from = std::stoi(message->source.str().substr(1));
    const ByteSpan data = bytes.subspan(sizeof slot);
    wire_.arrived_.emplace(std::pair(from, slot), std::vector<std::byte>(data.begin(), data.end()));
  }
}

comm::collective::Wire::Token CollectiveNode::NodeWire::send(int to, Slot slot, const Signature&,
                                                             ByteSpan data) {
  transfers_[++last_] = {.peer = to, .slot = slot.packed(), .data = data, .sends = true};
  return last_;
}

comm::collective::Wire::Token CollectiveNode::NodeWire::receive(int from, Slot slot,
                                                                const Signature&,
                                                                std::span<std::byte> into) {
  const std::uint64_t wanted = node_.faults_.ignore_slots ? 0 : slot.packed();
  transfers_[++last_] = {.peer = from, .slot = wanted, .into = into};
  return last_;
}

bool CollectiveNode::NodeWire::take_arrived(Transfer& transfer) {
  const auto [first, last] = arrived_.equal_range({transfer.peer, transfer.slot});
  if (first == last) return false;
  const auto found = std::prev(last);
  std::memcpy(transfer.into.data(), found->second.data(),
              std::min(transfer.into.size(), found->second.size()));
  arrived_.erase(found);
  return true;
}

void CollectiveNode::NodeWire::progress() {
  for (auto& [token, transfer] : transfers_) {
    if (transfer.over) continue;
    transfer.over = transfer.sends ? node_.post(name_of(transfer.peer), transfer.slot,
                                                transfer.data) == Attempt::sent
                                   : take_arrived(transfer);
  }
}

Result<bool> CollectiveNode::NodeWire::finished(Token token) {
  const bool over = transfers_.at(token).over;
  if (over) transfers_.erase(token);
  return over;
}

}  // namespace muster::sim
