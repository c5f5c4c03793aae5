#include "muster/comm/link/link_driver.h"

#include <algorithm>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/comm/errc.h"
#include "muster/comm/link/hello.h"

namespace muster::comm {
namespace {

// How much one `poll` takes in, so that its caller gets a word in between.
constexpr std::size_t kFramesPerPoll = 64;
constexpr std::size_t kBytesPerPoll = std::size_t{4} << 20;
// More of them would leave the cache before they are taken.
constexpr std::size_t kMessagesPerPoll = 128;

constexpr unsigned kPollsWithoutEvents = 16;

constexpr std::size_t kFormerPeers = 128;

std::string text(InstanceId instance) { return fmt::format("{:016x}", instance.value()); }

}  // namespace

struct LinkDriver::Peer {
  Peer(PeerId number, Entry its_entry, LinkEnds ends, const LinkOptions& options, TimePoint now)
      : id(number),
        entry(std::move(its_entry)),
        link(std::move(ends), options, now),
        decoder(entry.instance) {}

  struct Leaving {
    Departure departure;
    std::string why;
  };

  PeerId id;
  Entry entry;
  Link link;
  RecordDecoder decoder;
  std::optional<Leaving> leaving;  // to be reported
  bool silent = false;             // reported as such, or about to be
  bool ended = false;              // nothing is sent or received any more
  bool buried = false;             // disconnected; deleted when `poll` ends
  bool waiting = false;            // listed in `waiting_`
  bool gathering = false;          // listed in `gathering_`
};

LinkDriver::LinkDriver(DriverContext context, std::unique_ptr<FrameTransport> transport,
                       LinkOptions options)
    : context_(std::move(context)), transport_(std::move(transport)), options_(options) {}

LinkDriver::~LinkDriver() { close(); }

LinkDriver::Peer* LinkDriver::find(PeerId peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? nullptr : found->second.get();
}

LinkDriver::Peer* LinkDriver::find(InstanceId instance) const {
  const auto found = by_instance_.find(instance);
  return found == by_instance_.end() ? nullptr : found->second;
}

Result<void> LinkDriver::connect(PeerId peer, const Entry& entry) {
  if (closed_) return fail(Errc::closed, "the driver is closed");
  if (find(peer) != nullptr) return {};
  if (hello_.empty()) hello_ = encode_hello(context_.group, context_.self);
  if (auto ok = transport_->connect(peer, entry); !ok) return ok;
  if (Peer* former = find(entry.instance)) end(*former);
  const TimePoint now = context_.clock.now();
  LinkEnds ends{.self = context_.self.instance,
                .peer = entry.instance,
                .epoch = ++last_epoch_,
                .hello = hello_};
  auto made = std::make_unique<Peer>(peer, entry, std::move(ends), options_, now);
  by_instance_[entry.instance] = made.get();
  Peer& stored = *peers_.emplace(peer, std::move(made)).first->second;
  pump(stored, now);
  return {};
}

bool LinkDriver::established(PeerId peer) const {
  const Peer* const found = find(peer);
  return found != nullptr && found->link.state() == Link::State::established;
}

void LinkDriver::disconnect(PeerId id) {
  Peer* peer = find(id);
  if (peer == nullptr) return;
  if (!peer->ended) transport_->send(id, peer->link.farewell(false));
  transport_->disconnect(id);
  end(*peer);
  bury(*peer);
}

void LinkDriver::end(Peer& peer) {
  if (std::exchange(peer.ended, true)) return;
  by_instance_.erase(peer.entry.instance);
  former_.push_back(peer.entry.instance);
  if (former_.size() > kFormerPeers) former_.pop_front();
}

void LinkDriver::bury(Peer& peer) {
  peer.buried = true;
  const auto found = peers_.find(peer.id);
  if (polling_) buried_.push_back(std::move(found->second));
  peers_.erase(found);
}

SendStatus LinkDriver::send(PeerId id, const Message& message) {
  Peer* peer = find(id);
  if (peer == nullptr || peer->ended) return SendStatus::gone;
  const TimePoint now = context_.clock.now();
  bool taken = false;
  if (message.body.lent()) {
    Message kept = message;
    kept.body = message.body.kept();
    taken = peer->link.offer(kept, now);
  } else {
    taken = peer->link.offer(message, now);
  }
  if (peer->link.gathering()) {
    if (!std::exchange(peer->gathering, true)) {
      gathering_.push_back(id);
      due_ = earlier(due_, peer->link.next_wakeup());
    }
  } else {
    pump(*peer, now);
  }
  return taken ? SendStatus::sent : SendStatus::full;
}

void LinkDriver::flush() {
  transport_->flush();
  if (gathering_.empty()) return;
  const TimePoint now = context_.clock.now();
  for (const PeerId id : std::exchange(gathering_, {})) {
    Peer* peer = find(id);
    if (peer == nullptr) continue;
    peer->gathering = false;
    peer->link.flush();
    pump(*peer, now);
  }
}

bool LinkDriver::drained(PeerId peer) const {
  const Peer* found = find(peer);
  return found == nullptr || found->ended || found->link.drained();
}

std::vector<Message> LinkDriver::take_undelivered(PeerId id) {
  Peer* peer = find(id);
  if (peer == nullptr) return {};
  auto messages = peer->link.unacknowledged();
  for (Message& message : messages) {
    message.source = context_.self.name;
    message.destination = peer->entry.name;
  }
  return messages;
}

void LinkDriver::pump(Peer& peer, TimePoint now) {
  if (peer.ended) return;
  while (const Frame* frame = peer.link.next_frame()) {
    if (!transport_->send(peer.id, *frame)) break;
    peer.link.handed_over(now);
  }
  due_ = earlier(due_, peer.link.next_wakeup());
}

std::size_t LinkDriver::poll(DriverSink& sink, Intake intake) {
  if (closed_) return 0;
  MUSTER_ASSERT(!polling_, "poll is not called from a sink");
  polling_ = true;
  const TimePoint now = context_.clock.now();
  std::size_t delivered = intake == Intake::open ? deliver_waiting(sink, now) : 0;
  bool drained = false;
  std::size_t bytes = 0;
  std::size_t frames = 0;
  const auto enough = [&] {
    return frames >= kFramesPerPoll || bytes >= kBytesPerPoll || delivered >= kMessagesPerPoll;
  };
  for (; !enough() && !closed_; ++frames) {
    auto frame = transport_->receive();
    if (!frame) {
      drained = true;
      break;
    }
    bytes += frame->bytes();
    dispatch(*std::move(frame), sink, now);
    if (intake == Intake::open) delivered += deliver_waiting(sink, now);
  }
  // Asking for events costs a system call; they can wait while frames come.
  if (frames == 0 || ++polls_without_events_ >= kPollsWithoutEvents) take_events(now);
  if (drained) serve_links(now);
  report_departures(sink);
  if (!drained) due_ = now;
  backlog_.store(!drained || !waiting_.empty(), std::memory_order_relaxed);
  polling_ = false;
  buried_.clear();
  return delivered;
}

void LinkDriver::take_events(TimePoint now) {
  polls_without_events_ = 0;
  while (auto event = transport_->next_event()) {
    Peer* peer = find(event->peer);
    if (peer == nullptr || peer->ended) continue;
    switch (event->kind) {
      case TransportEvent::Kind::connected: peer->link.on_connected(now); break;
      case TransportEvent::Kind::disconnected: peer->link.on_disconnected(now); break;
    }
    pump(*peer, now);
  }
}

void LinkDriver::dispatch(Frame frame, DriverSink& sink, TimePoint now) {
  const auto header = decode_header(frame);
  if (!header) {
    ++counters_.malformed;
    complaints_.warn(now, fmt::format("dropped a frame from {}: {}", transport_->last_sender(),
                                      header.error().message()));
    return;
  }
  Peer* peer = find(header->source);
  if (header->destination != context_.self.instance) {
    if (peer != nullptr) {
      ++counters_.stale;
      return;
    }
    ++counters_.strangers;
    complaints_.warn(now, fmt::format("dropped a frame from {}: it is for {}, who is not here",
                                      transport_->last_sender(), text(header->destination)));
    return;
  }
  if (peer != nullptr) return hand_to_link(*peer, *header, std::move(frame), now);
  if (header->kind == FrameKind::hello) return on_hello(*header, std::move(frame), sink, now);
  if (std::find(former_.begin(), former_.end(), header->source) != former_.end()) {
    ++counters_.stale;
    return;
  }
  ++counters_.strangers;
  complaints_.warn(now, fmt::format("dropped a frame from {}: {} has not said hello",
                                    transport_->last_sender(), text(header->source)));
}

std::optional<Entry> LinkDriver::read_hello(const FrameHeader& header, const Frame& frame,
                                            TimePoint now) {
  auto hello = decode_hello(frame.head.bytes().subspan(kFrameHeaderBytes));
  if (!hello || hello->entry.instance != header.source) {
    ++counters_.malformed;
    complaints_.warn(now, fmt::format("dropped a hello from {}: {}", transport_->last_sender(),
                                      hello ? "it is signed by another" : hello.error().message()));
    return std::nullopt;
  }
  if (hello->group != context_.group) {
    ++counters_.strangers;
    complaints_.warn(now, fmt::format("dropped a hello from {}: '{}' is of group '{}', not '{}'",
                                      transport_->last_sender(), hello->entry.name.view(),
                                      hello->group, context_.group));
    return std::nullopt;
  }
  return std::move(hello->entry);
}

void LinkDriver::on_hello(const FrameHeader& header, Frame frame, DriverSink& sink, TimePoint now) {
  const auto entry = read_hello(header, frame, now);
  if (!entry) return;
  const auto id = sink.on_hello(*entry);
  if (!id) return;
  if (find(*id) == nullptr) {
    if (auto ok = connect(*id, *entry); !ok) {
      complaints_.warn(
          now, fmt::format("cannot answer '{}': {}", entry->name.view(), ok.error().message()));
      return;
    }
  }
  Peer* peer = find(*id);
  if (peer != nullptr && !peer->ended && peer->entry.instance == header.source)
    hand_to_link(*peer, header, std::move(frame), now);
}

void LinkDriver::hand_to_link(Peer& peer, const FrameHeader& header, Frame frame, TimePoint now) {
  switch (peer.link.receive(header, std::move(frame), now)) {
    case Link::Verdict::taken:
    case Link::Verdict::early: break;
    case Link::Verdict::stale: ++counters_.stale; break;
    case Link::Verdict::restarted:
      note_departure(peer, Departure::reset,
                     "the peer has forgotten this connection and offers a new one");
      break;
  }
  if (peer.link.state() != Link::State::unreachable) peer.silent = false;
  if (peer.link.state() == Link::State::left)
    note_departure(peer, Departure::graceful, "the peer has left");
  if (peer.link.state() == Link::State::dropped)
    note_departure(peer, Departure::reset, "the peer has given up this connection");
  if (peer.link.holding() && !std::exchange(peer.waiting, true)) waiting_.push_back(peer.id);
  pump(peer, now);
}

std::size_t LinkDriver::deliver_waiting(DriverSink& sink, TimePoint now) {
  std::size_t delivered = 0;
  while (!waiting_.empty()) {
    Peer* peer = find(waiting_.back());
    waiting_.pop_back();
    if (peer == nullptr) continue;
    peer->waiting = false;
    delivered += deliver(*peer, sink, now);
  }
  return delivered;
}

std::size_t LinkDriver::deliver(Peer& peer, DriverSink& sink, TimePoint now) {
  std::size_t delivered = 0;
  while (peer.link.holding() && !peer.buried) {
    const Incoming::Held held = peer.link.take(now);
    FrameReader reader(held.frame, held.header, peer.decoder);
    while (!peer.buried) {
      const auto more = reader.next();
      if (!more) {
        ++counters_.malformed;
        complaints_.warn(now, fmt::format("dropped the rest of a frame from '{}': {}",
                                          peer.entry.name.view(), more.error().message()));
      }
      if (!more || !*more) break;
      Message& message = reader.message();
      message.source = peer.entry.name;
      message.destination = context_.self.name;
      sink.on_message(peer.id, std::move(message));
      ++delivered;
    }
  }
  if (!peer.buried) pump(peer, now);
  return delivered;
}

void LinkDriver::serve_links(TimePoint now) {
  if (!due_ || now < *due_) return;
  due_.reset();
  gathering_.clear();
  for (const auto& [id, peer] : peers_) {
    if (peer->ended) continue;
    if (const auto heard = transport_->heard(id)) peer->link.on_part(*heard);
    peer->link.tick(now);
    peer->gathering = peer->link.gathering();
    if (peer->gathering) gathering_.push_back(id);
    if (peer->link.state() == Link::State::unreachable) {
      const auto silence =
          std::chrono::duration_cast<std::chrono::milliseconds>(peer->link.silence(now));
      note_departure(*peer, Departure::silent, fmt::format("it was last heard {} ago", silence));
    }
    pump(*peer, now);
  }
}

void LinkDriver::note_departure(Peer& peer, Departure departure, std::string why) {
  if (peer.leaving && peer.leaving->departure != Departure::silent) return;
  if (departure == Departure::silent && std::exchange(peer.silent, true)) return;
  if (!peer.leaving) departing_.push_back(peer.id);
  peer.leaving = Peer::Leaving{departure, std::move(why)};
}

void LinkDriver::report_departures(DriverSink& sink) {
  for (const PeerId id : std::exchange(departing_, {})) {
    Peer* peer = find(id);
    if (peer == nullptr || !peer->leaving) continue;
    // Everything that it had sent goes first.
    if (peer->link.holding()) {
      departing_.push_back(id);
      continue;
    }
    const Peer::Leaving leaving = *std::exchange(peer->leaving, std::nullopt);
    if (leaving.departure != Departure::silent) {
      end(*peer);
    } else if (!peer->silent) {
      continue;  // it was heard in the meantime
    }
    sink.on_departure(id, leaving.departure, leaving.why);
  }
}

DriverCounters LinkDriver::counters() const {
  DriverCounters counters = counters_;
  counters.strangers += transport_->strangers();
  return counters;
}

void LinkDriver::close() {
  if (std::exchange(closed_, true)) return;
  flush();
  for (const auto& [id, peer] : peers_) {
    if (!peer->ended) transport_->send(id, peer->link.farewell(true));
  }
  transport_->close();
}

}  // namespace muster::comm
