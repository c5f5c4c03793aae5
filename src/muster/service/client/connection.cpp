#include "muster/service/client/connection.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/fork_guard.h"
#include "muster/base/log.h"
#include "muster/base/random.h"
#include "muster/service/errc.h"

namespace muster::service {

namespace {

using namespace std::chrono_literals;
using engine::ArrayError;
using engine::Wrong;

// Those that go away together are released together.
constexpr Duration kGather = 20ms;
constexpr std::size_t kKeysAtOnce = 200;
constexpr Duration kSignOfLife = 5s;
constexpr Duration kReleaseAgain = 1s;
constexpr Duration kAsk = 5s;

std::string own_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
  const char* const user = std::getenv("USER");
  return fmt::format("{}@{}:{}", user == nullptr ? std::to_string(::geteuid()) : user, host.data(),
                     ::getpid());
}

}  // namespace

Result<std::shared_ptr<Connection>> Connection::open(const std::string& url,
                                                     ConnectionOptions options) {
  auto calls = WebCalls::make(url, options.calls);
  if (!calls) return fail(calls.error());
  const nlohmann::json body = {
      {"name", options.name.empty() ? own_name() : options.name},
      {"nonce", fmt::format("{:016x}{:016x}", secure_random_u64(), secure_random_u64())},
      {"timeout", std::chrono::duration<double>(options.session_timeout).count()}};
  try {
    const nlohmann::json answer = calls->send("POST", "/api/sessions", body);
    const auto id = answer.find("session");
    if (id == answer.end() || !id->is_string())
      return fail(Errc::malformed, fmt::format("{} is no web role of Muster", url));
    // One that was inherited through fork is never destroyed: its thread is not in this process,
    // and its sockets and session are the parent's.
    std::shared_ptr<Connection> opened(
        new Connection(*std::move(calls), id->get<std::string>(), options.session_timeout),
        [](Connection* gone) {
          if (gone->generation_ == fork_generation()) std::default_delete<Connection>()(gone);
        });
    opened->keeping_ = std::thread([self = opened.get()] { self->keep(self->stop_.get_token()); });
    return opened;
  } catch (const Refused& refused) {
    if (refused.status() == 401) return fail(Errc::refused, refused.what());
    return fail(Errc::refused, fmt::format("{} opens no session: {}", url, refused.what()));
  } catch (const ArrayError& error) {
    return fail(Errc::unreachable, error.what());
  }
}

Connection::Connection(WebCalls calls, std::string id, Duration session_timeout)
    : calls_(std::move(calls)),
      id_(std::move(id)),
      session_timeout_(session_timeout),
      memory_(engine::Memory::make(std::numeric_limits<std::size_t>::max() / 2)),
      generation_(fork_generation()) {}

Connection::~Connection() { close(); }

void Connection::close() {
  if (generation_ != fork_generation()) return;
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(closed_, true)) return;
  }
  stop_.request_stop();
  if (keeping_.joinable()) keeping_.join();
  // If it cannot be told now, the cluster finds out when the client stays silent.
  if (auto told = calls_.once("DELETE", path(""), kAsk); !told)
    log(LogLevel::info, "client", "closing the session: {}", told.error().message());
}

void Connection::check_open() const {
  if (generation_ != fork_generation())
    throw ArrayError(Wrong::other,
                     "the session was inherited through fork: open a new one in the child");
  const std::scoped_lock lock(mutex_);
  if (closed_) throw ArrayError(Wrong::other, "the session is closed");
}

bool Connection::is_open() const {
  if (generation_ != fork_generation()) return false;
  const std::scoped_lock lock(mutex_);
  return !closed_;
}

std::string Connection::path(std::string_view rest) const {
  return fmt::format("/api/sessions/{}{}", id_, rest);
}

std::string Connection::fresh_name(std::string_view kind) {
  const std::scoped_lock lock(mutex_);
  return fmt::format("{}{}", kind, ++names_);
}

void Connection::release_later(std::string key) {
  if (generation_ != fork_generation()) return;
  const std::scoped_lock lock(mutex_);
  if (closed_) return;
  to_release_.push_back(std::move(key));
  changed_.notify_one();
}

void Connection::release_now() {
  const std::scoped_lock one_at_a_time(releasing_);
  std::vector<std::string> keys;
  {
    const std::scoped_lock lock(mutex_);
    keys = std::exchange(to_release_, {});
  }
  if (!keys.empty()) release(std::move(keys));
}

void Connection::keep(const std::stop_token& stop) {
  const Duration every = std::min<Duration>(kSignOfLife, session_timeout_ / 4);
  TimePoint next_sign = std::chrono::steady_clock::now() + every;
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, stop, next_sign, [&] { return !to_release_.empty(); });
      if (!to_release_.empty()) changed_.wait_for(lock, stop, kGather, [] { return false; });
    }
    if (stop.stop_requested()) return;
    release_now();
    if (is_late()) (void)sleep_unless(stop, kReleaseAgain);
    if (std::chrono::steady_clock::now() < next_sign) continue;
    if (auto told = calls_.once("POST", path("/alive"), kAsk); !told)
      log(LogLevel::info, "client", "{}", told.error().message());
    next_sign = std::chrono::steady_clock::now() + every;
  }
}

/// Something could not be released.
bool Connection::is_late() const {
  const std::scoped_lock lock(mutex_);
  return late_;
}

void Connection::release(std::vector<std::string> keys) {
  while (!keys.empty()) {
    const std::size_t count = std::min(keys.size(), kKeysAtOnce);
    const std::span<const std::string> some(keys.data(), count);
    auto told = calls_.once("DELETE", path(fmt::format("/tensors/{}", fmt::join(some, ","))), kAsk);
    if (!told || told->status >= 500) {
      // Later, with the next sign of life; until then others may join.
      const std::scoped_lock lock(mutex_);
      to_release_.insert(to_release_.end(), keys.begin(), keys.end());
      log(LogLevel::info, "client", "{} tensors could not be released yet", keys.size());
      break;
    }
    keys.erase(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count));
  }
  const std::scoped_lock lock(mutex_);
  late_ = !keys.empty();
}

}  // namespace muster::service
