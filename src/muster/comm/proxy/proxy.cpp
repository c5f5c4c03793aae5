#include "muster/comm/proxy/proxy.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/errc.h"
#include "muster/comm/proxy/proxy_impl.h"

namespace muster::comm {
namespace {

// Readers of the discovery store take longer names for damage.
constexpr std::size_t kLongestName = 1024;

Result<void> check_options(const ProxyOptions& options) {
  const auto check_name = [](std::string_view what, std::string_view name) {
    if (name.empty()) throw std::invalid_argument(fmt::format("[Proxy] '{}' is empty", what));
    if (name.size() > kLongestName) {
      throw std::invalid_argument(fmt::format("[Proxy] '{}' has {} bytes; at most {} are allowed",
                                              what, name.size(), kLongestName));
    }
  };
  check_name("group", options.group);
  check_name("type", options.type);
  if (!options.name.empty()) check_name("name", options.name);
  if (options.expected_peers.empty()) {
    return fail(Errc::peers_missing,
                fmt::format("[Proxy] '{}' expects no peers; name at least one type and count",
                            options.type));
  }
  if (options.lease < std::chrono::milliseconds(50)) {
    throw std::invalid_argument(
        fmt::format("[Proxy] 'lease' is {} ms; at least 50 ms are needed to renew it in time",
                    std::chrono::duration_cast<std::chrono::milliseconds>(options.lease).count()));
  }
  return {};
}

// As good as for ever. The kernel probes a silent connection every 9 hours at the least, which is a
// third of the lease; and dozens of leases together must fit a Duration.
constexpr std::chrono::hours kLongestLease{24};

}  // namespace

Proxy::Proxy(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Proxy::Proxy(Proxy&&) noexcept = default;

Proxy& Proxy::operator=(Proxy&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

Proxy::~Proxy() {
  // In a child process the threads that would have to be ended do not exist, and the sockets belong
  // to the parent.
  if (impl_ && impl_->inherited()) static_cast<void>(impl_.release());
}

Result<Proxy> Proxy::join(ProxyOptions options) {
  if (auto ok = check_options(options); !ok) return fail(ok.error());
  options.lease = std::min<Duration>(options.lease, kLongestLease);
  auto impl = std::make_unique<Impl>(std::move(options));
  if (auto ok = impl->join(); !ok) return fail(ok.error());
  return Proxy(std::move(impl));
}

Result<void> Proxy::usable() const {
  if (!impl_->inherited()) return {};
  return fail(Errc::forked,
              fmt::format("proxy '{}' was inherited through fork; a child process makes its own",
                          impl_->self().name.view()));
}

const std::string& Proxy::group() const { return impl_->options().group; }
const ProxyOptions& Proxy::options() const { return impl_->options(); }
const Name& Proxy::type() const { return impl_->self().type; }
const Name& Proxy::name() const { return impl_->self().name; }

std::map<Name, std::vector<Name>> Proxy::peers() const {
  if (!usable()) return {};
  return impl_->locked([](const Router& router) { return router.peers(); });
}

std::vector<Name> Proxy::silent_peers() const {
  if (!usable()) return {};
  return impl_->locked([](const Router& router) { return router.silent_peers(); });
}

std::uint64_t Proxy::peers_version() const {
  if (!usable()) return 0;
  return impl_->locked([](const Router& router) { return router.membership_version(); });
}

Name Proxy::type_of(std::string_view peer) const {
  if (!usable()) return {};
  return impl_->locked([&](const Router& router) { return router.type_of(peer); });
}

Result<std::optional<Message>> Proxy::receive_once(Timeout timeout) {
  if (impl_->inherited()) [[unlikely]]
    return fail(usable().error());
  return impl_->receive_once(timeout);
}

Result<Replies> Proxy::receive_by_id(std::span<const SessionId> sessions, Timeout timeout) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->receive_by_id(sessions, timeout);
}

Result<SessionIds> Proxy::isend(Message&& message) {
  if (impl_->inherited()) [[unlikely]]
    return fail(usable().error());
  return impl_->isend(message);
}

Result<SessionIds> Proxy::isend(const Message& message) { return isend(Message(message)); }

Result<Replies> Proxy::send(Message message, Timeout timeout) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->exchange([&](Waiter* waiter) { return impl_->isend(message, waiter); }, timeout);
}

Result<SessionIds> Proxy::iscatter(Tag tag, SessionType type,
                                   const DestinationBodies& destinations) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->iscatter(tag, type, destinations);
}

Result<Replies> Proxy::scatter(Tag tag, SessionType type, const DestinationBodies& destinations,
                               Timeout timeout) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->exchange(
      [&](Waiter* waiter) { return impl_->iscatter(tag, type, destinations, waiter); }, timeout);
}

Result<SessionIds> Proxy::ibroadcast(std::string_view peer_type, Tag tag, SessionType type,
                                     Body body) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->ibroadcast(peer_type, tag, type, body);
}

Result<Replies> Proxy::broadcast(std::string_view peer_type, Tag tag, SessionType type, Body body,
                                 Timeout timeout) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->exchange(
      [&](Waiter* waiter) { return impl_->ibroadcast(peer_type, tag, type, body, waiter); },
      timeout);
}

Result<SessionIds> Proxy::reply(const Message& message, Tag tag, Body body,
                                Acknowledge acknowledge) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->reply(message, std::move(tag), std::move(body), acknowledge);
}

Result<SessionIds> Proxy::forward(const Message& message, Name destination, Tag tag,
                                  std::optional<Body> body) {
  Message passed = message;
  passed.destination = std::move(destination);
  if (!tag.empty()) {
    passed.tag = std::move(tag.text);
    passed.tag_origin = std::move(tag.origin);
  }
  if (body) passed.body = *std::move(body);
  passed.message_id = {};
  return isend(std::move(passed));
}

Result<WritableBuffer> Proxy::allocate(std::size_t bytes) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->allocate(bytes);
}

ProxyCounters Proxy::counters() const {
  if (!usable()) return {};
  return impl_->locked([](const Router& router) { return router.counters(); });
}

void Proxy::set_lease(Duration lease) {
  if (usable()) impl_->set_lease(std::min<Duration>(lease, kLongestLease));
}

bool Proxy::flush(Duration timeout) { return usable() && impl_->flush(timeout); }

void Proxy::close() {
  if (usable()) impl_->close();
}

}  // namespace muster::comm
