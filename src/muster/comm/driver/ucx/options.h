#pragma once

#include <string>

namespace muster::comm {

/// Empty: what the environment says (UCX_TLS, UCX_NET_DEVICES), else what settings.h chooses.
struct UcxOptions {
  std::string transports;  ///< UCX_TLS for this driver, such as "tcp" or "posix,rc"
  std::string devices;     ///< UCX_NET_DEVICES for this driver, such as "eth0" or "mlx5_0:1"
};

}  // namespace muster::comm
