#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "muster/base/result.h"

namespace muster::net {

/// The address of this host that packets to `host` would carry, found by asking the routing table;
/// nothing is sent.
[[nodiscard]] Result<std::string> local_address_towards(const std::string& host,
                                                        std::uint16_t port);

/// True for 127.0.0.0/8, ::1 and "localhost".
[[nodiscard]] bool is_loopback(std::string_view address);

}  // namespace muster::net
