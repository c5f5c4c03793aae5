#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::comm {

/// What stands in a registry entry: "ucx://local/WHOLE/NETWORK", or "net" instead of "local" where
/// other hosts can reach it; both are sealed worker addresses in base64.
struct UcxAddress {
  bool host_only = true;
  std::string whole;    ///< with shared memory, for peers on the same host
  std::string network;  ///< without, for all others
};

[[nodiscard]] std::string format_ucx_address(const UcxAddress& address);
[[nodiscard]] std::optional<UcxAddress> parse_ucx_address(std::string_view text);

}  // namespace muster::comm
