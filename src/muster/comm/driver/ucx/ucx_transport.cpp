#include "muster/comm/driver/ucx/ucx_transport.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <utility>

#include <fmt/format.h>

#include "muster/base/fork_guard.h"
#include "muster/base/log.h"
#include "muster/base/random.h"
#include "muster/comm/driver/ucx/address.h"
#include "muster/comm/driver/ucx/async_thread.h"
#include "muster/comm/driver/ucx/load.h"
#include "muster/comm/driver/ucx/route.h"
#include "muster/comm/driver/ucx/settings.h"
#include "muster/comm/errc.h"
#include "muster/runtime/process_life.h"

namespace muster::comm {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Chunks of one way that UCX may have at a time. Enough to keep it busy; giving up a way means
// ending as many.
constexpr std::size_t kMaxPending = 64;
constexpr std::size_t kMaxChunk = 64 * 1024;
constexpr std::size_t kMinChunk = 512;
// How much one `receive` moves before its caller gets a word in between.
constexpr int kRoundsPerReceive = 64;
// Nobody tells when a peer has made room in shared memory, so one looks: soon after something has
// moved, and less and less often while nothing does.
constexpr Duration kLookAgain = microseconds(20);
constexpr Duration kLookAgainAtMost = milliseconds(2);
constexpr int kLooksPerStall = 8;
// The poller does not sleep for this long after something has moved.
constexpr Duration kStaysAwake = microseconds(100);

constexpr Duration kAskAgain = milliseconds(200);
constexpr Duration kConnectAgain = milliseconds(20);
constexpr Duration kConnectAgainAtMost = milliseconds(500);

// A farewell leaves at once when its peer takes anything at all.
constexpr Duration kLastWords = milliseconds(100);
constexpr int kRoundsPerFarewell = 100;

template <class T>
UcxPiece piece_of(const T& message) {
  return {&message, sizeof message};
}

ByteSpan bytes_of(UcxPiece piece) {
  return {static_cast<const std::byte*>(piece.data), piece.bytes};
}

template <class T>
std::optional<T> read(UcxPiece piece) {
  T message;
  if (piece.bytes != sizeof message) return std::nullopt;
  std::memcpy(&message, piece.data, sizeof message);
  return message;
}

}  // namespace

Result<std::unique_ptr<UcxTransport>> UcxTransport::open(const DriverContext& context,
                                                         const UcxOptions& options) {
  auto credentials = UcxCredentials::from(context.security, context.group);
  if (!credentials) return fail(credentials.error());
  std::unique_ptr<UcxTransport> transport(new UcxTransport(context, *std::move(credentials)));
  if (auto ok = transport->open_port(context, options); !ok) return fail(ok.error());
  return transport;
}

UcxTransport::UcxTransport(const DriverContext& context, UcxCredentials credentials)
    : clock_(context.clock),
      doorbell_(context.doorbell),
      self_(context.self.instance),
      host_(context.self.host),
      pid_namespace_(context.self.pid_namespace),
      lease_(context.lease),
      made_in_(fork_generation()),
      credentials_(std::move(credentials)),
      // A peer that lives is heard three times in each lease, and forgotten after twenty.
      doors_(credentials_, self_, 40 * context.lease) {}

Result<void> UcxTransport::open_port(const DriverContext& context, const UcxOptions& options) {
  const auto plan =
      plan_ucx(context.security, options, [](const char* name) { return std::getenv(name); });
  if (!plan) return fail(plan.error());
  const auto open = load_ucx();
  if (!open) return fail(open.error());
  std::vector<UcxSetting> settings;
  for (const auto& [name, value] : plan->settings)
    settings.push_back({name.c_str(), value.c_str()});
  std::array<char, 512> why{};
  port_ = (*open)(kUcxPortVersion, settings.data(), settings.size(), this, why.data(), why.size());
  if (port_ == nullptr)
    return fail(Errc::driver_type, fmt::format("unavailable, because {}", why.data()));
  if (made_in_ != 0 && !ucx_thread_runs()) {
    return fail(Errc::driver_type,
                "unavailable, because this process was forked by one that uses UCX, whose thread "
                "did not come along: connections would never be accepted; start it with spawn, or "
                "fork before the parent uses ucx");
  }
  fd_ = port_->fd();
  const std::size_t room = port_->max_message_bytes();
  if (room < sizeof(UcxChunk) + kMinChunk)
    return fail(Errc::driver_type, fmt::format("UCX offers only {} bytes a message", room));
  chunk_bytes_ = std::min(room - sizeof(UcxChunk), kMaxChunk);
  address_ = format_ucx_address({.host_only = plan->host_only,
                                 .whole = credentials_.seal(bytes_of(port_->address())),
                                 .network = credentials_.seal(bytes_of(port_->network_address()))});
  return {};
}

Result<void> UcxTransport::connect(PeerId peer, const Entry& entry) {
  const auto found = entry.addresses.find("ucx");
  if (found == entry.addresses.end())
    return fail(Errc::socket_type, fmt::format("'{}' has no ucx address", entry.name.view()));
  const auto address = parse_ucx_address(found->second);
  if (!address) {
    return fail(Errc::socket_type, fmt::format("'{}' has the ucx address '{}', which is none",
                                               entry.name.view(), found->second));
  }
  Way& way = ways_[peer];
  way.peer = peer;
  way.name = entry.name.str();
  way.instance = entry.instance;
  // UCX may find that two network namespaces share memory. It cannot wake the other side there.
  const auto opened = credentials_.unseal(entry.host == host_ ? address->whole : address->network);
  if (!opened) {
    way.state = Way::State::refused;
    refuse(
        fmt::format("'{}' has a ucx address that no member of this group made: is "
                    "MUSTER_SECRET the same?",
                    way.name));
    return {};
  }
  way.address = *opened;
  if (entry.host == host_ && entry.pid_namespace == pid_namespace_) {
    way.pid = entry.pid;
    way.pid_start = entry.pid_start;
  }
  reach(way, clock_.now());
  return {};
}

void UcxTransport::disconnect(PeerId peer) {
  const auto found = ways_.find(peer);
  if (found == ways_.end()) return;
  for (int i = 0; i < kRoundsPerFarewell && found->second.pending != 0; ++i) {
    if (advance() == 0) break;
  }
  end_way(found->second);
  ways_.erase(found);
}

UcxTransport::Way* UcxTransport::find(std::uint32_t number) {
  const auto peer = by_number_.find(number);
  return peer == by_number_.end() ? nullptr : &ways_.at(peer->second);
}

void UcxTransport::reach(Way& way, TimePoint now) {
  // UCX would look for the memory of the dead. Whoever watches processes will let it go soon.
  if (way.pid != 0 && !process_runs(way.pid, way.pid_start)) return retry(way, now);
  way.number = ++last_number_;
  way.passage = {.source = self_.value(),
                 .destination = way.instance.value(),
                 .way = secure_random_u64(),
                 .nonce = UcxCredentials::fresh_nonce()};
  std::array<char, 128> why{};
  if (!port_->connect(way.number, {way.address.data(), way.address.size()}, why.data(),
                      why.size())) {
    log(LogLevel::debug, "comm", "cannot reach '{}' through ucx: {}", way.name, why.data());
    return retry(way, now);
  }
  by_number_[way.number] = way.peer;
  by_way_[way.passage.way] = way.peer;
  way.state = Way::State::asking;
  way.retry_wait = kAskAgain;
  ask(way, now);
}

void UcxTransport::ask(Way& way, TimePoint now) {
  const UcxChallenge challenge{.passage = way.passage,
                               .mac = credentials_.challenge_mac(way.passage)};
  if (!port_->ask(way.number, piece_of(challenge))) {
    broken_.emplace_back(way.number, "it does not take a challenge");
    pressing_.store(true, std::memory_order_relaxed);
  }
  way.retry_at = now + way.retry_wait;
  way.retry_wait = std::min(2 * way.retry_wait, lease_);
  retry_due_ = earlier(retry_due_, way.retry_at);
  wake_at_ = earlier(wake_at_, retry_due_);
}

void UcxTransport::retry(Way& way, TimePoint now) {
  way.state = Way::State::broken;
  way.retry_wait = std::clamp(2 * way.retry_wait, kConnectAgain, kConnectAgainAtMost);
  way.retry_at = now + way.retry_wait;
  retry_due_ = earlier(retry_due_, way.retry_at);
  wake_at_ = earlier(wake_at_, retry_due_);
}

void UcxTransport::break_way(Way& way, const std::string& why) {
  log(LogLevel::debug, "comm", "the way to '{}' through ucx is broken: {}", way.name, why);
  if (way.state == Way::State::open)
    events_.push_back({way.peer, TransportEvent::Kind::disconnected});
  end_way(way);
  retry(way, clock_.now());
}

void UcxTransport::end_way(Way& way) {
  const std::uint32_t number = std::exchange(way.number, 0);
  by_number_.erase(number);
  by_way_.erase(way.passage.way);
  way.queue.clear();
  way.pending = 0;
  way.state = Way::State::broken;
  if (number != 0 && port_ != nullptr) port_->disconnect(number);
}

bool UcxTransport::send(PeerId peer, const Frame& frame) {
  const auto found = ways_.find(peer);
  if (port_ == nullptr || found == ways_.end() || found->second.state != Way::State::open)
    return false;
  Way& way = found->second;
  way.queue.push_back(std::make_shared<UcxParcel>(frame, ++way.frames));
  post(way);
  flush();
  return true;
}

void UcxTransport::post(Way& way) {
  while (way.state == Way::State::open && !way.queue.empty() && way.pending < kMaxPending) {
    UcxParcel& parcel = *way.queue.front();
    UcxParcel::Cut cut = parcel.next(chunk_bytes_);
    cut.header.way = way.passage.way;
    cut.header.token = way.token;
    if (!spare_) spare_ = std::make_unique<Pending>();
    switch (
        port_->send(way.number, piece_of(cut.header), cut.pieces.data(), cut.count, spare_.get())) {
      case UcxSent::done: break;
      case UcxSent::pending:
        *spare_ = {way.number, way.queue.front()};
        ++way.pending;
        pending_.emplace(spare_.get(), std::move(spare_));
        break;
      case UcxSent::failed:
        // Not here: the caller may be going through the ways.
        broken_.emplace_back(way.number, "it does not take a frame");
        pressing_.store(true, std::memory_order_relaxed);
        way.queue.clear();
        return;
    }
    if (parcel.finished()) way.queue.pop_front();
  }
}

void UcxTransport::on_sent(void* parcel) {
  const auto found = pending_.find(parcel);
  if (found == pending_.end()) return;
  if (Way* way = find(found->second->way)) {
    --way->pending;
    if (!way->queue.empty()) unblocked_.push_back(way->number);
  }
  pending_.erase(found);
}

void UcxTransport::on_broken(std::uint32_t way, const char* why) { broken_.emplace_back(way, why); }

void UcxTransport::on_arrival(UcxPiece header, UcxPiece data, void* reply) {
  UcxKind kind{};
  if (header.bytes >= sizeof kind) std::memcpy(&kind, header.data, sizeof kind);
  if (const auto chunk = read<UcxChunk>(header); chunk && kind == UcxKind::chunk)
    return on_chunk(*chunk, bytes_of(data));
  if (const auto challenge = read<UcxChallenge>(header); challenge && kind == UcxKind::challenge)
    return on_challenge(*challenge, reply);
  if (const auto answer = read<UcxAnswer>(header); answer && kind == UcxKind::answer)
    return on_answer(*answer);
  refuse(fmt::format("dropped {} bytes that are nothing that Muster sends",
                     header.bytes + data.bytes));
}

void UcxTransport::on_challenge(const UcxChallenge& challenge, void* reply) {
  const auto answer = doors_.knock(challenge, clock_.now());
  if (!answer || reply == nullptr) {
    return refuse(
        fmt::format("refused {:016x}: it does not know the secret, is of another group, "
                    "or looks for somebody else",
                    challenge.passage.source));
  }
  static_cast<void>(port_->reply(reply, piece_of(*answer)));  // if it is lost, it is asked again
}

void UcxTransport::on_answer(const UcxAnswer& answer) {
  const auto peer = by_way_.find(answer.way);
  if (peer == by_way_.end()) return refuse("dropped an answer to what nobody asked");
  Way& way = ways_.at(peer->second);
  if (way.state != Way::State::asking) return;
  if (!UcxCredentials::same(answer.mac, credentials_.answer_mac(way.passage, answer.nonce)))
    return refuse(
        fmt::format("whoever stands where '{}' should does not know the secret", way.name));
  way.token = credentials_.token(way.passage, answer.nonce);
  way.state = Way::State::open;
  way.retry_at.reset();
  way.retry_wait = {};
  events_.push_back({way.peer, TransportEvent::Kind::connected});
  if (log_enabled(LogLevel::debug))
    log(LogLevel::debug, "comm", "'{}' is reached over ucx {}", way.name, route(way.peer));
}

void UcxTransport::on_chunk(const UcxChunk& chunk, ByteSpan bytes) {
  Frame frame;
  switch (doors_.take(chunk, bytes, clock_.now(), frame)) {
    case UcxDoors::Verdict::more:
    case UcxDoors::Verdict::lost: break;
    case UcxDoors::Verdict::whole: arrivals_.push_back(std::move(frame)); break;
    case UcxDoors::Verdict::stranger:
      refuse("dropped a frame of somebody who has not proved to belong here");
      break;
    case UcxDoors::Verdict::malformed: refuse("dropped a frame that contradicts itself"); break;
  }
}

void UcxTransport::refuse(std::string_view what) {
  ++strangers_;
  complaints_.warn(clock_.now(), fmt::format("ucx: {}", what));
}

unsigned UcxTransport::advance() {
  unsigned moved = port_->progress();
  for (const std::uint32_t number : std::exchange(unblocked_, {})) {
    if (Way* const way = find(number)) {
      post(*way);
      ++moved;
    }
  }
  for (const auto& [number, why] : std::exchange(broken_, {})) {
    if (Way* const way = find(number)) break_way(*way, why);
  }
  return moved;
}

void UcxTransport::work() {
  bool moved_any = false;
  armed_ = false;
  for (int i = 0; i < kRoundsPerReceive && arrivals_.empty(); ++i) {
    const unsigned moved = advance();
    moved_any = moved_any || moved != 0;
    if (moved != 0 || !arrivals_.empty()) continue;
    armed_ = port_->arm() == UcxArmed::yes;
    if (armed_) break;
  }
  const TimePoint now = clock_.now();
  serve_ways(now);
  plan_wakeup(now, moved_any);
}

void UcxTransport::serve_ways(TimePoint now) {
  if (!retry_due_ || now < *retry_due_) return;
  retry_due_.reset();
  for (auto& [peer, way] : ways_) {
    if (!way.retry_at) continue;
    if (now < *way.retry_at) {
      retry_due_ = earlier(retry_due_, way.retry_at);
    } else if (way.state == Way::State::asking) {
      ask(way, now);
    } else {
      reach(way, now);
    }
  }
}

void UcxTransport::plan_wakeup(TimePoint now, bool moved) {
  if (moved || pending_.empty()) moved_at_ = now;
  look_at_.reset();
  if (!pending_.empty())
    look_at_ = now + std::clamp((now - moved_at_) / kLooksPerStall, kLookAgain, kLookAgainAtMost);
  const bool busy = !arrivals_.empty() || !events_.empty() || !armed_;
  wake_at_ = earlier(look_at_, retry_due_);
  if (busy) wake_at_ = now;
  pressing_.store(busy || (look_at_ && now - moved_at_ <= kStaysAwake), std::memory_order_relaxed);
}

std::optional<Frame> UcxTransport::receive() {
  if (port_ == nullptr) return std::nullopt;
  if (arrivals_.empty()) work();
  if (arrivals_.empty()) return std::nullopt;
  Frame frame = std::move(arrivals_.front());
  arrivals_.pop_front();
  return frame;
}

std::optional<TransportEvent> UcxTransport::next_event() {
  if (events_.empty()) return std::nullopt;
  const TransportEvent event = events_.front();
  events_.pop_front();
  return event;
}

std::optional<TimePoint> UcxTransport::heard(PeerId peer) const {
  const auto found = ways_.find(peer);
  return found == ways_.end() ? std::nullopt : doors_.heard(found->second.instance);
}

void UcxTransport::flush() {
  if (port_ == nullptr || pending_.empty()) return;
  const bool moved = advance() != 0;
  const TimePoint now = clock_.now();
  const bool news = !arrivals_.empty() || !events_.empty();
  plan_wakeup(now, moved);
  if (news) doorbell_.ring();  // whoever sleeps will not hear of it from the descriptor
}

bool UcxTransport::ready() const {
  if (pressing_.load(std::memory_order_relaxed)) return true;
  pollfd slot{fd_, POLLIN, 0};
  return fd_ >= 0 && ::poll(&slot, 1, 0) > 0;
}

std::string UcxTransport::route(PeerId peer) const {
  const auto found = ways_.find(peer);
  if (port_ == nullptr || found == ways_.end()) return "";
  std::array<char, 8192> text{};
  port_->describe(found->second.number, text.data(), text.size());
  return ucx_route(text.data());
}

void UcxTransport::let_the_last_leave() {
  const TimePoint until = clock_.now() + kLastWords;
  while (!pending_.empty() && clock_.now() < until) {
    if (advance() != 0) continue;
    pollfd slot{fd_, POLLIN, 0};
    ::poll(&slot, 1, 1);
  }
}

void UcxTransport::close() {
  if (port_ == nullptr) return;
  // In a child that inherited it, UCX's threads do not exist and its locks may be held for ever.
  if (fork_generation() == made_in_) {
    let_the_last_leave();
    std::exchange(port_, nullptr)->close();
  }
  port_ = nullptr;
  ways_.clear();
  pending_.clear();
}

}  // namespace muster::comm
