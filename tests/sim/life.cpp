#include "tests/sim/life.h"

#include <algorithm>

#include "muster/comm/errc.h"

namespace muster::sim {
namespace {

const std::string kGroup = "sim";
constexpr Duration kLease = std::chrono::seconds(3);
constexpr Duration kLookEvery = std::chrono::milliseconds(100);

comm::Entry entry_for(const std::string& name, comm::InstanceId instance, int number) {
  comm::Entry entry = comm::local_entry(name, "node");
  entry.instance = instance;
  entry.host = "host of " + name;
  entry.process = name + "#" + std::to_string(number);
  entry.born = number;
  entry.pid = number;
  return entry;
}

}  // namespace

Life::Life(const Plan& plan, testing::FrameNetwork& network, const Clock& clock,
           std::shared_ptr<comm::MemoryBoard> board, std::string its_name,
           comm::InstanceId instance, int number)
    : name(std::move(its_name)),
      self(entry_for(name, instance, number)),
      clock_(clock),
      doorbell_(*Doorbell::create()),
      store_(std::move(board)) {
  comm::LinkOptions options;
  options.lease = kLease;
  options.connected_lease = kLease;
  options.faults = plan.link_faults;
  driver_ = std::make_unique<comm::LinkDriver>(
      comm::DriverContext{.self = self,
                          .group = kGroup,
                          .doorbell = *doorbell_,
                          .clock = clock,
                          .security = {},
                          .limits = {},
                          .lease = kLease},
      network.transport(name + "#" + std::to_string(number)), options);
  self.addresses["memory"] = driver_->address();
  comm::RouterOptions router_options;
  router_options.lease = kLease;
  router_options.rejoin.enabled = true;
  router_options.rejoin.cache_messages = true;
  router_options.rejoin.max_rejoins = 1000;
  router_options.faults = plan.router_faults;
  router_ = std::make_unique<comm::Router>(self, router_options, clock,
                                           std::vector<comm::Driver*>{driver_.get()});
}

void Life::step() {
  const TimePoint now = clock_.now();
  if (now >= renew_at_) {
    static_cast<void>(store_.put(kGroup, self, kLease));
    renew_at_ = now + kLease / 3;
  }
  if (now >= look_at_) {
    const auto entries = store_.list(kGroup);
    router_->update(*entries);
    look_at_ = now + kLookEvery;
  }
  router_->poll();
  retry_answers();
  while (auto message = router_->pop()) answer(*message);
  router_->flush();
  std::erase_if(waiting, [&](const auto& waiter) {
    if (!waiter->done()) return false;
    router_->remove(*waiter);
    lost_replies += waiter->take().lost.size();
    return true;
  });
}

Deadline Life::next_event() const {
  return earlier(earlier(renew_at_, look_at_), router_->next_wakeup());
}

bool Life::request(const std::string& peer, comm::SessionType type, const std::string& text) {
  comm::Message message;
  message.tag = "do";
  message.destination = peer;
  message.body = comm::Body::text(text);
  message.session_type = type;
  if (!router_->prepare(message)) return false;
  comm::SessionIds sessions;
  auto& kept = kept_[peer];
  const auto step = router_->try_send(message, sessions);
  if (step == comm::Router::Step::away) {
    if (router_->keep(message).is(comm::Errc::pending)) kept.emplace_back(text, message.session_id);
  }
  // What went out: first what had been kept (or was on its way to an earlier life), then this one.
  // Only what this call knows by its session is recorded; the rest was recorded when first sent.
  for (const comm::SessionId& session : sessions) {
    const auto known = std::find_if(kept.begin(), kept.end(),
                                    [&](const auto& one) { return one.second == session; });
    if (known != kept.end()) {
      sent.push_back({known->first, peer, router_->instance_of(peer)});
      kept.erase(known);
    } else if (session == message.session_id) {
      sent.push_back({text, peer, router_->instance_of(peer)});
    }
  }
  if (!sessions.empty() && type == comm::SessionType::task) {
    waiting.push_back(std::make_unique<comm::Waiter>(sessions));
    router_->add(*waiting.back());
  }
  return !sessions.empty();
}

void Life::answer(const comm::Message& message) {
  if (message.session_stage != comm::SessionStage::request) return;
  got.push_back({std::string(message.body.text()), message.source.str(),
                 router_->instance_of(message.source)});
  unanswered_.push_back(message);
  retry_answers();
}

void Life::retry_answers() {
  while (!unanswered_.empty()) {
    const comm::Message& message = unanswered_.front();
    const auto before = router_->stage_of(message);
    auto reply = router_->make_reply(message, {}, message.body, comm::Acknowledge::no);
    if (reply) {
      comm::SessionIds sessions;
      const auto step = router_->try_send(*reply, sessions);
      if (step == comm::Router::Step::full) {
        router_->undo_reply(*reply, before);
        return;
      }
      if (step == comm::Router::Step::away) static_cast<void>(router_->keep(*reply));
    }
    unanswered_.pop_front();
  }
}

}  // namespace muster::sim
