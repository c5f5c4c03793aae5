#include "muster/service/join_cluster.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/comm/errc.h"
#include "muster/service/errc.h"
#include "muster/service/protocol/tags.h"

namespace muster::service {
namespace {

/// With several schedulers to try, for one of them.
constexpr Duration kOneOfSeveral = std::chrono::seconds(3);

std::vector<std::string> addresses(std::string_view list) {
  std::vector<std::string> all;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) all.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return all;
}

void set_common(const RoleOptions& role, comm::ProxyOptions& proxy) {
  proxy.group = kGroup;
  proxy.expected_peers = {{std::string(kSchedulerType), 1}};
  proxy.driver = role.driver;
  proxy.security = role.security;
  proxy.lease = role.lease;
  proxy.join_timeout = proxy.store_timeout = role.patience;
  proxy.rejoin.enabled = true;
  proxy.rejoin.max_rejoins = std::numeric_limits<std::size_t>::max();
}

Error with_advice(const Error& error, const std::string& schedulers) {
  if (!error.is(comm::Errc::store_unreachable) && !error.is(comm::Errc::discovery_incomplete))
    return error;
  return {error.code(), fmt::format("{}. Is 'muster scheduler' running at {}, and can this host "
                                    "reach it?",
                                    error.message(), schedulers)};
}

}  // namespace

Result<comm::Proxy> join_cluster(const RoleOptions& role, comm::ProxyOptions proxy) {
  set_common(role, proxy);
  if (role.store) {
    proxy.store = role.store;
    return comm::Proxy::join(std::move(proxy));
  }
  const std::vector<std::string> schedulers = addresses(role.scheduler);
  if (schedulers.empty())
    return fail(Errc::invalid, "a role needs the address of the scheduler, HOST:PORT");
  const TimePoint until = SteadyClock().now() + role.patience;
  if (schedulers.size() > 1)
    proxy.store_timeout = proxy.join_timeout = std::min(kOneOfSeveral, role.patience);
  for (std::size_t turn = 0;; ++turn) {
    comm::ProxyOptions one = proxy;
    one.discovery = "tcp://" + schedulers[turn % schedulers.size()];
    auto joined = comm::Proxy::join(std::move(one));
    if (joined) return joined;
    if (schedulers.size() == 1 || SteadyClock().now() >= until)
      return fail(with_advice(joined.error(), role.scheduler));
    log(LogLevel::warning, "service", "{}", joined.error().message());
  }
}

}  // namespace muster::service
