#include "muster/comm/driver/shm/driver_impl.h"

#include <algorithm>
#include <bit>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/base/fork_guard.h"
#include "muster/base/log.h"
#include "muster/base/random.h"
#include "muster/comm/driver/shm/shm_driver.h"
#include "muster/comm/errc.h"

namespace muster::comm {

Result<std::unique_ptr<Driver>> make_shm_driver(DriverContext context, ShmOptions options) {
  std::string address =
      fmt::format("muster-shm-{:016x}{:016x}", secure_random_u64(), secure_random_u64());
  auto listener = listen_unix(address);
  if (!listener) return fail(std::move(listener).error());
  auto epoll = Epoll::create();
  if (!epoll) return fail(std::move(epoll).error());
  auto ringing_socket = RemoteDoorbell::ringing_socket();
  if (!ringing_socket) return fail(std::move(ringing_socket).error());
  return std::make_unique<shm::ShmDriver>(std::move(context), options, std::move(address),
                                          *std::move(listener), *std::move(epoll),
                                          *std::move(ringing_socket));
}

namespace shm {
namespace {

constexpr std::size_t kSmallestRing = std::size_t{64} << 10;
// Of one peer before the next one has its turn.
constexpr std::size_t kBatch = 32;
constexpr std::size_t kPollsBetweenTidying = 64;

ShmOptions checked(ShmOptions options) {
  options.ring_bytes = std::bit_ceil(std::max(options.ring_bytes, kSmallestRing));
  // With it, the largest record still fits.
  options.inline_bytes = std::min(options.inline_bytes, options.ring_bytes / 8);
  return options;
}

std::optional<SecretProof> proof_of(const Security& security) {
  if (security.secret.empty()) return std::nullopt;
  return SecretProof(security.secret);
}

}  // namespace

ShmDriver::ShmDriver(DriverContext context, ShmOptions options, std::string address,
                     FileDescriptor listener, Epoll epoll,
                     std::shared_ptr<const FileDescriptor> ringing_socket)
    : context_(std::move(context)),
      options_(checked(options)),
      address_(std::move(address)),
      listener_(std::move(listener)),
      epoll_(std::move(epoll)),
      ringing_socket_(std::move(ringing_socket)),
      arena_(options.arena_bytes, context_.clock),
      placer_(arena_, options_.inline_bytes),
      secret_(proof_of(context_.security)),
      outbound_common_{context_.self,
                       context_.group,
                       secret_ ? &*secret_ : nullptr,
                       context_.doorbell,
                       placer_,
                       context_.limits.peer_bytes,
                       [this] {
                         return std::none_of(peers_.begin(), peers_.end(), [](const auto& peer) {
                           return peer.second.out && peer.second.out->blocks_under_way();
                         });
                       }} {
  made_in_ = fork_generation();
  watch(listener_.get(), Source::listener);
}

ShmDriver::~ShmDriver() { close(); }

void ShmDriver::close() {
  if (std::exchange(closed_, true)) return;
  // In a child, sockets and epoll are still those of the parent: letting go of them is all.
  if (fork_generation() != made_in_) return;
  for (auto& [id, peer] : peers_) drop(peer, Farewell::closing);
  last_sent_to_ = nullptr;
  peers_.clear();
  arrivals_.clear();
  connecting_.clear();
  ended_.clear();
  epoll_.remove(listener_.get());
  listener_.reset();
  arena_.clear();
  note_change();
}

void ShmDriver::watch(int fd, Source source, std::uint32_t number) {
  const std::uint64_t key = static_cast<std::uint64_t>(source) << 32u | number;
  if (auto added = epoll_.add(fd, key); !added) {
    log(LogLevel::error, "comm", "shm: {}", added.error().message());
  }
}

// Watching on what cannot be read now would keep the thread awake for nothing.
void ShmDriver::set_aside(int fd, Source source, std::uint32_t number) {
  epoll_.remove(fd);
  starved_.emplace(source, number);
  starved_until_ = earlier(starved_until_, context_.clock.now() + kRetryStarved);
  if (std::exchange(starving_, true)) return;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  log(LogLevel::warning, "comm",
      "shm: '{}' has no descriptor free (limit {}, see ulimit -n): peers wait until it has",
      context_.self.name.view(), limit.rlim_cur);
}

void ShmDriver::take_up_starved() {
  starved_until_.reset();
  for (const auto& [id, in] : polled_.inbound) in->try_again();
  starving_ = !starved_.empty();  // what still is will be set aside again
  for (const auto& [source, number] : std::exchange(starved_, {})) {
    const auto peer = peers_.find(PeerId(number));
    const bool lives = peer != peers_.end() && !peer->second.ended;
    const auto arrival = arrivals_.find(number);
    if (source == Source::listener) {
      watch(listener_.get(), source);
    } else if (source == Source::arrival && arrival != arrivals_.end()) {
      watch(arrival->second.socket.get(), source, number);
    } else if (source == Source::outbound && lives && peer->second.out) {
      watch(peer->second.out->socket().get(), source, number);
    } else if (source == Source::inbound && lives && peer->second.in) {
      watch(peer->second.in->socket().get(), source, number);
    }
  }
}

// The poller looks again, even if it sleeps.
void ShmDriver::note_change() {
  changed_.store(true, std::memory_order_release);
  context_.doorbell.ring();
}

void ShmDriver::refresh_polled() {
  if (!changed_.load(std::memory_order_acquire)) return;
  changed_.store(false, std::memory_order_relaxed);  // set only with the lock held, as now
  polled_ = {};
  for (const auto& [id, peer] : peers_) {
    if (peer.in) polled_.inbound.emplace_back(id, peer.in);
    if (peer.out && !peer.ended) polled_.outbound.push_back(peer.out);
  }
}

ShmDriver::Peers::value_type* ShmDriver::find_again(PeerId id) {
  if (last_sent_to_ != nullptr && last_sent_to_->first == id) [[likely]]
    return last_sent_to_;
  const auto found = peers_.find(id);
  last_sent_to_ = found == peers_.end() ? nullptr : &*found;
  return last_sent_to_;
}

void ShmDriver::forget(Peers::iterator peer) {
  last_sent_to_ = nullptr;
  peers_.erase(peer);
}

SendStatus ShmDriver::send(PeerId id, const Message& message) {
  Peers::value_type* const found = find_again(id);
  if (found == nullptr || !found->second.out || found->second.ended) return SendStatus::gone;
  Outbound& out = *found->second.out;
  const SendStatus status = out.send(message);
  if (status == SendStatus::sent) [[likely]]
    return status;
  if (out.broken()) {
    on_malformed(id, found->second,
                 Error(make_error_code(Errc::malformed), "its ring index makes no sense"));
    return SendStatus::gone;
  }
  waiting_.store(true, std::memory_order_relaxed);
  if (out.retry_later()) {
    // Any receiver may hold what is missing.
    for (auto& [other_id, other] : peers_) {
      if (other.out) other.out->await_progress();
    }
    retry_at_ = earlier(retry_at_, context_.clock.now() + kRetry);
  }
  return status;
}

bool ShmDriver::established(PeerId id) const {
  const auto found = peers_.find(id);
  if (found == peers_.end() || !found->second.out) return false;
  return found->second.out->welcomed() || found->second.in;
}

std::vector<Message> ShmDriver::take_undelivered(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || !found->second.out) return {};
  return found->second.out->undelivered();
}

bool ShmDriver::drained(PeerId id) const {
  const auto found = peers_.find(id);
  return found == peers_.end() || !found->second.out || found->second.ended ||
         found->second.out->welcomed();
}

bool ShmDriver::ready() const {
  if (changed_.load(std::memory_order_acquire)) return true;
  for (const auto& [id, in] : polled_.inbound) {
    if (in->ready()) return true;
  }
  if (!waiting_.load(std::memory_order_relaxed)) return false;
  return std::any_of(polled_.outbound.begin(), polled_.outbound.end(),
                     [](const auto& out) { return out->progressed(); });
}

std::size_t ShmDriver::poll(DriverSink& sink, Intake intake) {
  refresh_polled();
  if (waiting_.load(std::memory_order_relaxed)) note_progress();
  const std::size_t delivered = intake == Intake::open ? drain_all(sink) : 0;
  if (!ended_.empty()) report_departures(sink);
  if (delivered == 0 || ++polls_ % kPollsBetweenTidying == 0) tidy();
  return delivered;
}

// Whoever waits tries again after this poll, and says so again if that is still in vain.
void ShmDriver::note_progress() {
  for (const auto& out : polled_.outbound) {
    if (!out->progressed()) continue;
    out->note_progress();
    waiting_.store(false, std::memory_order_relaxed);
  }
}

std::size_t ShmDriver::drain_all(DriverSink& sink) {
  // It is the same one every time, and finding out takes longer than a message.
  if (receiver_.sink != &sink) receiver_ = {&sink, dynamic_cast<PlacingSink*>(&sink)};
  const std::size_t count = polled_.inbound.size();
  if (count == 0) return 0;
  std::size_t delivered = 0;
  // Another one is first every time, so that nobody always waits for the same peer.
  first_polled_ = first_polled_ + 1 < count ? first_polled_ + 1 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto& [id, in] = polled_.inbound[(first_polled_ + i) % count];
    if (!in->ready()) continue;
    const auto drained = in->drain(receiver_, id, kBatch);
    delivered += in->delivered();
    if (in->stuck()) set_aside(in->socket().get(), Source::inbound, id.value());
    if (drained) continue;
    if (const auto found = peers_.find(id); found != peers_.end() && found->second.in == in) {
      on_malformed(id, found->second, drained.error());
    }
  }
  return delivered;
}

void ShmDriver::tidy() {
  if (retry_at_ && *retry_at_ <= context_.clock.now()) {
    retry_at_.reset();
    retry_connects();
  }
  if (starved_until_ && *starved_until_ <= context_.clock.now()) take_up_starved();
  if (arena_.next_retirement() && *arena_.next_retirement() <= context_.clock.now()) {
    arena_.retire_idle();
  }
  for (const std::uint32_t segment : arena_.take_retired()) {
    for (auto& [id, peer] : peers_) {
      if (peer.out) peer.out->retire(segment);
    }
  }
}

Deadline ShmDriver::next_wakeup() const {
  return earlier(earlier(retry_at_, starved_until_), arena_.next_retirement());
}

Result<WritableBuffer> ShmDriver::allocate(std::size_t bytes) {
  if (closed_) return fail(Errc::closed, "the shm driver is closed");
  const Force force = arena_.used_bytes() == 0 ? Force::yes : Force::no;
  auto block = arena_.allocate(bytes, force);
  if (!block) return fail(std::move(block).error());
  const std::span<std::byte> view((*block)->data(), bytes);
  return WritableBuffer{view, Arena::hold(*std::move(block))};
}

}  // namespace shm
}  // namespace muster::comm
