#include "muster/service/worker/worker_proxy.h"

#include <string>
#include <utility>

#include "muster/net/local_address.h"
#include "muster/service/join_cluster.h"
#include "muster/service/protocol/tags.h"

namespace muster::service {

Result<comm::Proxy> join_as_worker(const WorkerOptions& options) {
  const RoleOptions& role = options.role;
  comm::ProxyOptions proxy;
  proxy.type = kWorkerType;
  proxy.name = options.name;
  if (role.driver == "auto" || role.driver == "zmq") {
    // Without an address of its own it listens where it reaches the scheduler from.
    if (!net::is_loopback(role.host)) proxy.driver_options["zmq.host"] = role.host;
    if (role.port != 0) proxy.driver_options["zmq.port"] = std::to_string(role.port);
  }
  // Nothing here waits for a peer inside a send.
  proxy.rejoin.minimal_peers_timeout = Duration::zero();
  return join_cluster(role, std::move(proxy));
}

}  // namespace muster::service
