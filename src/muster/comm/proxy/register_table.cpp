#include "muster/comm/proxy/register_table.h"

#include <iterator>
#include <stdexcept>
#include <utility>

namespace muster::comm {
namespace {

PeerSource fixed(PeersByType peers) {
  return {.peers = [peers = std::move(peers)] { return peers; }, .version = [] { return 0; }};
}

}  // namespace

RegisterTable::RegisterTable(PeerSource peers, MatcherOptions options)
    : peers_(std::move(peers)),
      matcher_([this](std::string_view source) { return peers_.count(source); }, options) {}

RegisterTable::RegisterTable(PeersByType peers, MatcherOptions options)
    : RegisterTable(fixed(std::move(peers)), options) {}

EventId RegisterTable::register_event_handler(Event event, Handler handler) {
  if (!handler)
    throw std::invalid_argument("[register_event_handler] event " + event.str() +
                                " has no handler to call");
  if (peers_.refresh()) matcher_.recheck();
  handlers_.push_back(std::move(handler));
  return matcher_.add(std::move(event));
}

Result<bool> RegisterTable::push(Message message) {
  if (peers_.refresh()) matcher_.recheck();
  const Name source = message.source;
  const Name tag = message.tag;
  const auto token = held_.put({std::move(message)});
  const auto events = matcher_.push(token, source, peers_.type_of(source), tag);
  if (!events || *events == 0) {
    static_cast<void>(held_.take(token));
    if (!events) return fail(events.error());
    return false;
  }
  held_[token].events = *events;
  return true;
}

std::vector<RegisterTable::Triggered> RegisterTable::get() {
  std::vector<Triggered> triggered;
  for (collect(); !due_.empty(); collect()) triggered.push_back(next());
  return triggered;
}

bool RegisterTable::trigger_next() {
  collect();
  if (due_.empty()) return false;
  Triggered triggered = next();
  triggered.handler(std::move(triggered.messages));
  return true;
}

std::size_t RegisterTable::trigger() {
  std::size_t calls = 0;
  while (trigger_next()) ++calls;
  return calls;
}

void RegisterTable::collect() {
  if (peers_.refresh()) matcher_.recheck();
  if (!due_.empty()) return;  // what has fired since counts as waiting until these are done
  auto fired = matcher_.take_fired();
  due_.insert(due_.end(), std::make_move_iterator(fired.begin()),
              std::make_move_iterator(fired.end()));
}

RegisterTable::Triggered RegisterTable::next() {
  const Firing firing = std::move(due_.front());
  due_.pop_front();
  Triggered triggered{handlers_[firing.event.value()], {}};
  triggered.messages.reserve(firing.tokens.size());
  for (const std::uint64_t token : firing.tokens) triggered.messages.push_back(release(token));
  return triggered;
}

Message RegisterTable::release(std::uint64_t token) {
  const auto index = static_cast<Slab<Held>::Index>(token);
  if (--held_[index].events > 0) return held_[index].message;
  return held_.take(index).message;
}

std::size_t RegisterTable::waiting() const {
  std::size_t due = 0;
  for (const Firing& firing : due_) due += firing.tokens.size();
  return matcher_.waiting() + due;
}

void RegisterTable::clear() {
  matcher_.clear();
  due_.clear();
  held_.clear();
}

}  // namespace muster::comm
