#include "muster/comm/collective/group.h"

#include <charconv>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/collective/formation.h"
#include "muster/comm/collective/group_impl.h"
#include "muster/comm/errc.h"
#include "muster/comm/proxy/proxy.h"

namespace muster::comm {
namespace {

void check_options(const GroupOptions& options) {
  const auto wrong = [](const std::string& what) {
    throw std::invalid_argument("[Group] " + what);
  };
  if (options.name.empty()) wrong("'name' is empty");
  if (options.size < 1) wrong(fmt::format("'size' is {}; at least 1", options.size));
  if (options.rank && (*options.rank < 0 || *options.rank >= options.size))
    wrong(fmt::format("rank {} is not one of 0 to {}", *options.rank, options.size - 1));
  constexpr std::chrono::milliseconds kShortestLease(50);  // that of a proxy
  if (options.lease < kShortestLease)
    wrong(fmt::format("'lease' is {:.3f} s; at least 0.05 s are needed to renew it in time",
                      std::chrono::duration<double>(options.lease).count()));
}

Result<int> number_from(const char* variable, const char* text) {
  int number = 0;
  const std::string_view all(text);
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), number);
  if (error == std::errc() && end == all.data() + all.size()) return number;
  return fail(Errc::malformed, fmt::format("{} is '{}', and not a number", variable, all));
}

}  // namespace

Group::Group(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Group::Group(Group&&) noexcept = default;

Group& Group::operator=(Group&& other) noexcept {
  if (this != &other) {
    if (impl_) Impl::let_go(std::move(impl_));
    impl_ = std::move(other.impl_);
  }
  return *this;
}

Group::~Group() {
  if (impl_) Impl::let_go(std::move(impl_));
}

Result<Group> Group::join(GroupOptions options) {
  check_options(options);
  collective::FormationOptions wanted;
  wanted.size = options.size;
  wanted.rank = options.rank;
  return join(std::move(options), wanted);
}

Result<Group> Group::join(GroupOptions options, const collective::FormationOptions& wanted) {
  const TimePoint deadline = after(std::chrono::steady_clock::now(), options.join_timeout);
  auto crew = collective::Crew::join(options);
  if (!crew) return fail(crew.error());
  collective::Crew::Lock lock((*crew)->mutex());
  auto formed = collective::form(**crew, lock, wanted, deadline);
  lock.unlock();
  if (!formed) return fail(formed.error());
  Impl::Identity identity{options.name, formed->id, formed->epoch,
                          formed->roster.rank_of((*crew)->self()), formed->roster};
  auto impl = Impl::make(*crew, std::move(identity), deadline);
  if (!impl) return fail(impl.error().within(fmt::format("join group '{}'", options.name)));
  lock.lock();
  (*crew)->joined();
  lock.unlock();
  return Group(*std::move(impl));
}

Result<Group> Group::from(const Proxy& proxy, FromProxyOptions options) {
  const ProxyOptions& joined = proxy.options();
  collective::FormationOptions wanted;
  wanted.size = options.size;
  wanted.rank = options.rank;
  wanted.type = joined.type;
  int others = 0;
  for (const auto& [type, count] : joined.expected_peers) {
    const bool counts =
        options.types.empty() ||
        std::find(options.types.begin(), options.types.end(), type) != options.types.end();
    if (!counts || count == 0) continue;
    wanted.needs[type] = static_cast<int>(count);
    others += static_cast<int>(count);
  }
  if (options.size == 0 && others == 0)
    throw std::invalid_argument(fmt::format(
        "[Group] proxy '{}' waits for no peers that could be ranks: 'size' must say how many",
        proxy.name().view()));
  GroupOptions group;
  group.name = proxy.group() + "." + options.name;
  group.size = options.size != 0 ? options.size : 1 + others;
  group.rank = options.rank;
  group.member = proxy.name().str();
  group.discovery = joined.discovery;
  group.store = joined.store;
  group.driver = joined.driver;
  group.driver_options = joined.driver_options;
  group.security = joined.security;
  group.lease = joined.lease;
  group.join_timeout = options.join_timeout;
  group.plane = options.plane;
  group.interrupted = joined.interrupted;
  if (options.size != 0) check_options(group);
  return join(std::move(group), wanted);
}

Result<Group> Group::from_environment(GroupOptions options) {
  const char* const size = std::getenv("MUSTER_SIZE");
  const char* const rank = std::getenv("MUSTER_RANK");
  const char* const name = std::getenv("MUSTER_GROUP");
  const char* const discovery = std::getenv("MUSTER_DISCOVERY");
  if (size == nullptr && rank == nullptr) return Group(Impl::solo("alone"));
  if (size == nullptr || rank == nullptr || name == nullptr)
    return fail(Errc::malformed,
                "MUSTER_RANK, MUSTER_SIZE and MUSTER_GROUP belong together; use 'muster run'");
  const auto ranks = number_from("MUSTER_SIZE", size);
  if (!ranks) return fail(ranks.error());
  const auto own = number_from("MUSTER_RANK", rank);
  if (!own) return fail(own.error());
  if (*ranks < 1 || *own < 0 || *own >= *ranks)
    return fail(Errc::malformed,
                fmt::format("MUSTER_RANK is {} and MUSTER_SIZE {}: no such rank", *own, *ranks));
  options.name = name;
  options.size = *ranks;
  options.rank = *own;
  if (discovery != nullptr) options.discovery = discovery;
  return join(std::move(options));
}

int Group::rank() const { return impl_->rank(); }
int Group::size() const { return impl_->size(); }
const std::string& Group::name() const { return impl_->identity().name; }
std::uint32_t Group::epoch() const { return impl_->identity().epoch; }
const std::vector<std::string>& Group::members() const { return impl_->identity().roster.members; }
std::vector<int> Group::lost() const { return impl_->lost(); }
Plane Group::plane() const { return impl_->plane(); }

Result<Group> Group::split(int color, int key, CallOptions options) {
  auto impl = impl_->split(color, key, options);
  if (!impl) return fail(impl.error());
  return Group(*std::move(impl));
}

Result<void> Group::run(const collective::Call& call, const CallOptions& options) {
  return impl_->run(call, options);
}

Result<Handle> Group::start(collective::Call call, const CallOptions& options) {
  return impl_->start(std::move(call), options);
}

Result<void> Group::send_bytes(int to, std::span<const std::byte> data, Element element,
                               const CallOptions& options) {
  auto handle = start_send(to, data, element, options);
  if (!handle) return fail(handle.error());
  return handle->wait(options.timeout);
}

Result<void> Group::receive_bytes(int from, std::span<std::byte> data, Element element,
                                  const CallOptions& options) {
  auto handle = start_receive(from, data, element, options);
  if (!handle) return fail(handle.error());
  return handle->wait(options.timeout);
}

Result<Handle> Group::start_send(int to, std::span<const std::byte> data, Element element,
                                 const CallOptions& options) {
  return impl_->start_send(to, data, element, options);
}

Result<Handle> Group::start_receive(int from, std::span<std::byte> data, Element element,
                                    const CallOptions& options) {
  return impl_->start_receive(from, data, element, options);
}

Result<WritableBuffer> Group::allocate(std::size_t bytes) { return impl_->allocate(bytes); }

Result<Group::Agreement> Group::agree(std::uint64_t bits, Timeout timeout) {
  return impl_->agree(bits, timeout);
}

Result<Shrunk> Group::shrink(Timeout timeout) { return impl_->shrink(timeout); }

Result<Group> Group::grow(int newcomers, Timeout timeout) {
  auto impl = impl_->grow(newcomers, timeout);
  if (!impl) return fail(impl.error());
  return Group(*std::move(impl));
}

void Group::close() { impl_->close(); }

// ---- Sizes

void Group::need(const char* operation, const char* what, std::size_t has,
                 std::size_t needed) const {
  if (has < needed)
    throw std::invalid_argument(
        fmt::format("[{}] {} has {} items; {} are needed", operation, what, has, needed));
}

void Group::exactly(const char* operation, const char* what, std::size_t has,
                    std::size_t needed) const {
  if (has != needed)
    throw std::invalid_argument(
        fmt::format("[{}] {} has {} items; it must be {}", operation, what, has, needed));
}

std::size_t Group::block_of(const char* operation, const char* what, std::size_t items) const {
  const auto ranks = static_cast<std::size_t>(size());
  if (items % ranks != 0)
    throw std::invalid_argument(fmt::format("[{}] {} has {} items, which {} ranks cannot share",
                                            operation, what, items, ranks));
  return items / ranks;
}

bool Group::whole_in_place(const Call& call, const char* what, std::size_t has,
                           std::size_t whole) const {
  if (!call.in_place() || has == whole) return call.in_place();
  if (collective::own_start(call, rank()) != 0)
    throw std::invalid_argument(fmt::format(
        "[{}] {} lies where the block of rank 0 does; pass the same memory twice to work in place, "
        "or memory apart",
        collective::name(call.operation), what));
  return false;
}

std::size_t Group::sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

std::size_t Group::own(const char* operation, const Counts& counts) const {
  if (counts.size() != static_cast<std::size_t>(size()))
    throw std::invalid_argument(
        fmt::format("[{}] there are {} counts for {} ranks", operation, counts.size(), size()));
  return counts[static_cast<std::size_t>(rank())];
}

}  // namespace muster::comm
