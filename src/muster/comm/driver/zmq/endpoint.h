#pragma once

#include <string>
#include <string_view>

#include "muster/base/result.h"
#include "muster/comm/driver/zmq/options.h"

namespace muster::comm {

/// Where a socket will listen, worked out before anything is opened.
struct ListenPlan {
  std::string endpoint;  ///< for zmq_bind, with "*" for a port that is to be chosen
  std::string
      advertise;  ///< the host that peers connect to, in brackets when it is IPv6; empty for ipc
  bool loopback = true;  ///< only this host can reach it
  bool ipv6 = false;
};

[[nodiscard]] Result<ListenPlan> plan_listening(const ZmqOptions& options);

/// What peers are told: the plan's host and the port of the endpoint that the socket really has.
[[nodiscard]] std::string advertised_address(const ListenPlan& plan, std::string_view endpoint);

}  // namespace muster::comm
