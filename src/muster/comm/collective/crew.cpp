#include "muster/comm/collective/crew.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/base/fork_guard.h"
#include "muster/base/log.h"
#include "muster/base/random.h"
#include "muster/comm/collective/shared/plane.h"
#include "muster/comm/errc.h"
#include "muster/runtime/host.h"
#include "muster/runtime/poll.h"
#include "muster/runtime/process_life.h"
#include "muster/runtime/unix_socket.h"

namespace muster::comm::collective {
namespace {

constexpr const char* kType = "rank";
constexpr const char* kControl = "control";
constexpr const char* kData = "data";
// How often the background thread looks who fell silent. Processes of this host that end are
// noticed at once.
constexpr Duration kLookEvery = std::chrono::milliseconds(20);
// The same where calls are under way.
constexpr Duration kLookOften = std::chrono::milliseconds(1);
// Waiting threads look again at least this often.
constexpr Duration kLongestWait = std::chrono::milliseconds(20);
// How often those that wait for long are asked whether they want to stop.
constexpr Duration kAskEvery = std::chrono::milliseconds(100);
// What a process sent before it ended arrives within this time.
constexpr Duration kLastWords = std::chrono::milliseconds(30);
// How long who leaves waits until its last control messages have room, and have arrived.
constexpr Duration kLinger = std::chrono::seconds(1);
// Who leaves many groups, one after the other, waits no longer in vain than this for all of them: a
// member that hears nothing now may hear all of it soon, or never.
constexpr Duration kPatience = 3 * kLinger;
// While many join at once, a process may have to wait for the processor for longer than a lease.
constexpr int kLeasesWhileJoining = 4;
constexpr Duration kLongLease = std::chrono::hours(1);
// From so many ranks on, rings are small.
constexpr int kMany = 32;
constexpr std::size_t kSmallRing = std::size_t{64} << 10;
// Messages for groups that other ranks have made already; more would be a mistake of somebody.
constexpr std::size_t kMostEarly = 65536;

// The rest of the lease is for making sure.
Duration store_lease(const GroupOptions& options) {
  return std::max<Duration>(options.lease / 5 * 4, std::chrono::milliseconds(50));
}

ProxyOptions proxy_options(const GroupOptions& options) {
  ProxyOptions proxy;
  proxy.group = "collective." + options.name;
  proxy.type = kType;
  proxy.expected_peers = {{kType, 0}};  // whom it meets says how many it expects
  proxy.name = options.member;
  proxy.driver = options.driver;
  proxy.driver_options = options.driver_options;
  proxy.discovery = options.discovery;
  proxy.store = options.store;
  proxy.join_timeout = options.join_timeout;
  proxy.lease = store_lease(options);
  proxy.linger = kLinger;
  proxy.send_timeout = Duration::zero();  // who sends must go on receiving meanwhile
  proxy.interrupted = options.interrupted;
  proxy.security = options.security;
  proxy.limits.peer_bytes = std::size_t{256} << 20;
  proxy.limits.inbox_bytes = std::size_t{1} << 30;
  // Between ranks that share memory go a few words only, and each has a ring for each other.
  if (options.plane != Plane::network && options.size > kMany)
    proxy.driver_options.try_emplace("shm.ring_bytes", std::to_string(kSmallRing));
  return proxy;
}

}  // namespace

Result<std::shared_ptr<Crew>> Crew::join(const GroupOptions& options) {
  auto interrupt = Interrupt::create();
  if (!interrupt) return fail(interrupt.error());
  auto proxy = Proxy::join(proxy_options(options));
  if (!proxy) return fail(proxy.error());
  const Duration lease = store_lease(options);
  proxy->set_lease(lease < kLongLease ? kLeasesWhileJoining * lease : lease);
  // In a child process its thread does not exist: there the crew is let go of as it is.
  return std::shared_ptr<Crew>(new Crew(options, *std::move(proxy), *std::move(interrupt)),
                               [made_in = fork_generation()](Crew* crew) {
                                 if (made_in == fork_generation()) crew->let_go();
                               });
}

void Crew::let_go() {
  if (thread_.get_id() != std::this_thread::get_id()) return std::default_delete<Crew>()(this);
  // By a function that the background thread has called, or by what that left to be done.
  is_its_own_ = true;
  thread_.request_stop();
  thread_.detach();
}

Crew::Crew(GroupOptions options, Proxy proxy, Interrupt interrupt)
    : options_(std::move(options)),
      table_(ChoiceTable::from_environment()),
      self_(proxy.name().str()),
      proxy_(std::move(proxy)),
      outbox_([this](const std::string& member, const std::string& control) {
        return try_send(member, control);
      }),
      interrupt_(std::move(interrupt)),
      patience_(kPatience),
      thread_([this](const std::stop_token& stop) {
        run(stop);
        if (is_its_own_) std::default_delete<Crew>()(this);
      }) {}

Crew::~Crew() {
  send_the_rest(std::chrono::steady_clock::now() + kLinger);
  if (thread_.joinable()) {
    thread_.request_stop();
    interrupt_.set();
    thread_.join();
  }
  do_what_was_left();
  proxy_.close();
}

void Crew::do_later(std::function<void()> work) {
  // The work may be all that still owns the crew, until the lock is free.
  const std::lock_guard lock(later_mutex_);
  later_.push_back(std::move(work));
  interrupt_.set();
}

void Crew::do_what_was_left() {
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(later_mutex_);
    work.swap(later_);
  }
  for (const auto& one : work) one();
}

void Crew::add(std::uint64_t group, CrewSink& sink,
               const std::shared_ptr<shared::SharedPlane>& plane) {
  sinks_[group] = &sink;
  if (plane) planes_[group] = plane;
  // What came before the group was there.
  std::deque<Message> early;
  early.swap(early_);
  for (const Message& message : early) deliver(message);
}

void Crew::remove(std::uint64_t group) {
  sinks_.erase(group);
  past_.insert(group);
  planes_.erase(group);
}

// ---- Messages

void Crew::send(const std::string& member, const nlohmann::json& control) {
  // Words that a program gave may be no text.
  using ErrorHandler = nlohmann::json::error_handler_t;
  outbox_.post(member, control.dump(-1, ' ', false, ErrorHandler::replace));
}

Outbox::Attempt Crew::try_send(const std::string& member, const std::string& control) {
  if (options_.at_step) options_.at_step();
  Message message;
  message.tag = kControl;
  message.destination = member;
  message.session_type = SessionType::notification;
  message.body = Body::json(control);
  const auto sent = proxy_.isend(std::move(message));
  if (sent) return Outbox::Attempt::sent;
  if (sent.error().is(Errc::would_block)) return Outbox::Attempt::full;
  return sent.error().is(Errc::peer_connection) ? Outbox::Attempt::away : Outbox::Attempt::refused;
}

void Crew::send_the_rest(TimePoint deadline) {
  Lock lock(mutex_);
  // Whoever lets messages in tries again.
  while (outbox_.waits_for_room() && std::chrono::steady_clock::now() < deadline &&
         wait(lock, deadline))
    continue;
}

void Crew::flush() {
  const TimePoint start = std::chrono::steady_clock::now();
  const TimePoint deadline = start + std::min<Duration>(patience_, kLinger);
  send_the_rest(deadline);
  if (proxy_.flush(deadline - std::chrono::steady_clock::now())) {
    patience_ = kPatience;
  } else {
    const Duration waited = std::chrono::steady_clock::now() - start;
    patience_ = std::max<Duration>(patience_.load() - waited, Duration::zero());
  }
}

void Crew::regain_patience() {
  if (patience_.load() < kPatience && proxy_.flush(Duration::zero())) patience_ = kPatience;
}

void Crew::send_for_ever(const std::string& member, const nlohmann::json& control) {
  for_ever_[member].push_back(control);
  send(member, control);
}

Result<void> Crew::send_data(const std::string& member, std::span<const std::byte> header,
                             std::span<const std::byte> data) {
  Message message;
  message.tag = kData;
  message.destination = member;
  message.session_type = SessionType::notification;
  std::vector<Buffer> payload;
  payload.push_back(Buffer::lend(data, nullptr));
  message.body = Body::python(Buffer::copy_of(header), std::move(payload));
  auto sent = proxy_.isend(std::move(message));
  if (!sent) return fail(sent.error());
  return {};
}

Result<void> Crew::wait(Lock& lock, TimePoint deadline, std::uint64_t carried) {
  const TimePoint until = std::min(deadline, std::chrono::steady_clock::now() + kLongestWait);
  if (ended_) return fail(*ended_);
  if (!receiving_) {
    const bool taken =
        take_messages(lock, std::max(until - std::chrono::steady_clock::now(), Duration::zero()));
    const bool for_others = sinks_.size() > 1 || !sinks_.contains(carried);
    if (taken && for_others) wake_background();
  } else {
    changed_.wait_until(lock, until);
  }
  if (ended_) return fail(*ended_);
  return {};
}

Result<void> Crew::wait(Lock& lock, TimePoint deadline, Deadline& ask_at, std::uint64_t carried) {
  const TimePoint time = std::chrono::steady_clock::now();
  if (!ask_at) ask_at = time + kAskEvery;
  if (options_.interrupted && time >= *ask_at) {
    lock.unlock();
    const bool stop = options_.interrupted();
    lock.lock();
    if (stop) return fail(Errc::interrupted, fmt::format("'{}' was interrupted", self_));
    ask_at = std::chrono::steady_clock::now() + kAskEvery;
  }
  return wait(lock, deadline, carried);
}

bool Crew::take_messages(Lock& lock, Timeout timeout) {
  receiving_ = true;
  std::size_t taken = 0;
  if (take_next(lock, timeout)) ++taken;
  while (taken > 0 && taken < 256 && take_next(lock, Duration::zero())) ++taken;
  look_who_left(lock);
  outbox_.retry();
  receiving_ = false;
  changed_.notify_all();
  return taken > 0;
}

bool Crew::take_next(Lock& lock, Timeout timeout) {
  lock.unlock();
  auto message = proxy_.receive_once(timeout);
  lock.lock();
  if (!message && !message.error().is(Errc::interrupted)) ended_ = message.error();
  if (!message || !*message) return false;
  deliver(**message);
  return true;
}

void Crew::deliver(const Message& message) {
  if (message.tag == kControl) return deliver_control(message);
  std::uint64_t group = 0;
  const ByteSpan header = message.body.buffer().bytes();
  if (message.tag != kData || header.size() < sizeof group || message.body.buffer_count() != 2)
    return;
  std::memcpy(&group, header.data(), sizeof group);
  const auto it = sinks_.find(group);
  if (it != sinks_.end()) return it->second->on_data(message.source.str(), message);
  if (!past_.contains(group) && early_.size() < kMostEarly) early_.push_back(message);
}

void Crew::deliver_control(const Message& message) {
  try {
    auto control = nlohmann::json::parse(message.body.text());
    if (!control.contains("group")) {
      return deliver_formation(message.source.str(), std::move(control));
    }
    const auto group = control.at("group").get<std::uint64_t>();
    const auto it = sinks_.find(group);
    if (it != sinks_.end()) return it->second->on_control(message.source.str(), control);
    if (!past_.contains(group) && early_.size() < kMostEarly) early_.push_back(message);
  } catch (const std::exception& problem) {
    log(LogLevel::warning, "comm", "'{}' sent what is no control message: {}",
        message.source.view(), problem.what());
  }
}

void Crew::deliver_formation(const std::string& from, nlohmann::json control) {
  if (forming_) return static_cast<void>(formation_.emplace_back(from, std::move(control)));
  const auto kind = control.at("kind").get<std::string>();
  if (kind == "ask") {
    const auto size = control.at("size").get<int>();
    const auto waited = std::chrono::milliseconds(control.at("waited").get<std::int64_t>());
    for (const CrewSink* const sink : sinks())
      if (const auto error = sink->turn_away(from, size, waited))
        return send(from, {{"kind", "refused"},
                           {"life", control.at("life")},
                           {"code", error->code().value()},
                           {"text", error->message()}});
    return;
  }
  // What it said of itself before counts no more.
  if (kind == "hello")
    std::erase_if(formation_, [&](const auto& earlier) {
      return earlier.first == from && earlier.second.at("kind") == "hello";
    });
  formation_.emplace_back(from, std::move(control));
}

// ---- Who is there

std::set<std::string> Crew::peers() const {
  std::set<std::string> names = starved();
  for (const auto& [type, members] : proxy_.peers())
    for (const Name& name : members) names.insert(name.str());
  return names;
}

void Crew::look_who_left(Lock& lock) {
  const std::uint64_t version = proxy_.peers_version();
  const TimePoint time = std::chrono::steady_clock::now();
  const bool due = (look_at_starved_ && *look_at_starved_ <= time) ||
                   std::any_of(going_.begin(), going_.end(),
                               [&](const Going& going) { return going.due <= time; });
  if (version == peers_version_ && !due) return;
  peers_version_ = version;
  look_at_starved_.reset();
  if (!starved().empty()) look_at_starved_ = time + options_.lease / 10;
  const std::set<std::string> there = peers();
  // What they sent before they left comes first.
  while (take_next(lock, Duration::zero())) continue;
  for (const auto& [member, controls] : for_ever_) {
    if (!there.contains(member) || seen_peers_.contains(member)) continue;
    for (const auto& control : controls) send(member, control);
  }
  // Who was paused itself finds the others silent when it wakes up, for a moment.
  for (const std::string& member : seen_peers_)
    if (!there.contains(member))
      going_.push_back({member, time + options_.lease / 10, std::nullopt});
  seen_peers_ = there;
  std::vector<Going> gone;
  std::erase_if(going_, [&](const Going& going) {
    if (!going.pid && there.contains(going.member)) return true;
    if (going.due > time) return false;
    gone.push_back(going);
    return true;
  });
  for (const Going& going : gone) depart(going);
}

std::set<std::string> Crew::starved() const {
  std::set<std::string> members;
  if (!joining_) return members;
  for (const Name& name : proxy_.silent_peers()) {
    const auto it = std::find_if(watched_.begin(), watched_.end(), [&](const Watched& watched) {
      return watched.member == name.view();
    });
    if (it != watched_.end() && !process_is_stopped(it->pid)) members.insert(name.str());
  }
  return members;
}

void Crew::joined() {
  // They have a lease from now on to be heard.
  const TimePoint until = after(std::chrono::steady_clock::now(), options_.lease);
  for (const std::string& member : starved()) {
    going_.push_back({member, until, std::nullopt});
    seen_peers_.erase(member);
  }
  joining_ = false;
  proxy_.set_lease(store_lease(options_));
}

std::vector<CrewSink*> Crew::sinks() const {
  std::vector<CrewSink*> sinks;
  for (const auto& [group, sink] : sinks_) sinks.push_back(sink);
  return sinks;
}

void Crew::exit(const std::string& member, std::int64_t pid) {
  const auto hello = hellos_.find(member);
  const bool has_successor = hello != hellos_.end() && hello->second.pid != pid;
  if (!has_successor) {
    outbox_.forget(member);
    hellos_.erase(member);
  }
  for (CrewSink* const sink : sinks()) sink->on_exit(member, pid);
  going_.push_back({member, std::chrono::steady_clock::now() + kLastWords, pid});
  changed_.notify_all();
}

void Crew::depart(const Going& going) {
  for (CrewSink* const sink : sinks()) sink->on_departure(going.member, going.pid);
  changed_.notify_all();
}

void Crew::watch(const std::string& member, const Hello& hello) {
  const bool known = std::any_of(watched_.begin(), watched_.end(), [&](const Watched& watched) {
    return watched.member == member && watched.pid == hello.pid;
  });
  if (known || hello.pid == ::getpid() || hello.host != host_id() ||
      hello.pid_namespace != pid_namespace())
    return;
  const auto pid = static_cast<pid_t>(hello.pid);
  if (auto process = watch_process(pid)) {
    watched_.push_back({member, hello.pid, *std::move(process)});
    interrupt_.set();
  } else if (::kill(pid, 0) != 0 && errno == ESRCH) {
    exit(member, hello.pid);
  }  // else the proxy notices, if later
}

bool Crew::runs_here(const std::string& member, const Hello& hello) const {
  return hello.pid == ::getpid() ||
         std::any_of(watched_.begin(), watched_.end(), [&](const Watched& watched) {
           return watched.member == member && watched.pid == hello.pid;
         });
}

// ---- The background thread

void Crew::wake_background() { interrupt_.set(); }

void Crew::run(const std::stop_token& stop) {
  Duration rest = kLookEvery;
  while (!stop.stop_requested()) {
    watch_processes(rest);
    rest = progress();
    if (progress_in_memory()) rest = Duration::zero();
    if (rest == kLookEvery) regain_patience();
    do_what_was_left();
  }
}

void Crew::watch_processes(Duration at_most) {
  std::vector<pollfd> slots{{interrupt_.fd(), POLLIN, 0}};
  {
    const std::lock_guard lock(mutex_);
    for (const Watched& watched : watched_) slots.push_back({watched.process.get(), POLLIN, 0});
  }
  static_cast<void>(poll_until(slots, std::chrono::steady_clock::now() + at_most));
  static_cast<void>(interrupt_.take());
  const std::lock_guard lock(mutex_);
  // Others are only added, at the end.
  for (std::size_t i = slots.size() - 1; i > 0; --i) {
    if (slots[i].revents == 0) continue;
    const auto watched = watched_.begin() + static_cast<std::ptrdiff_t>(i - 1);
    const auto [member, pid] = std::pair(watched->member, watched->pid);
    watched_.erase(watched);
    exit(member, pid);
  }
}

Duration Crew::progress() {
  Lock lock(mutex_);
  if (!receiving_) take_messages(lock, Duration::zero());
  bool busy = false;
  // What a group carries on may close another.
  for (const auto& [group, sink] : std::map(sinks_))
    if (sinks_.contains(group)) busy = sink->progress() || busy;
  if (!busy) return kLookEvery;
  // Another thread waits for messages, and says when there are some that it does not care for.
  if (receiving_) return kLookOften;
  take_messages(lock, kLookOften);
  return Duration::zero();
}

bool Crew::progress_in_memory() {
  std::vector<std::shared_ptr<shared::SharedPlane>> planes;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [group, plane] : planes_)
      if (auto there = plane.lock()) planes.push_back(std::move(there));
  }
  std::shared_ptr<shared::SharedPlane> busy;
  for (auto& plane : planes)
    if (plane->progress()) busy = plane;
  if (busy) busy->doze(std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
  return busy != nullptr;
}

}  // namespace muster::comm::collective
