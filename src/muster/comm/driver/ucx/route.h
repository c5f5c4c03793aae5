#pragma once

#include <string>
#include <string_view>

namespace muster::comm {

/// The transports that carry messages, from what UCX prints about an endpoint: "posix", "tcp", or
/// several joined by "+".
[[nodiscard]] std::string ucx_route(std::string_view printed);

}  // namespace muster::comm
