#pragma once

#include <memory>
#include <string_view>

#include "muster/base/result.h"
#include "muster/comm/discovery/store.h"

namespace muster::comm {

/// The store behind an address: "" or "file:" (the default folder) and "file:/folder" for one host,
/// a Redis URL or "host:port" (see `net::RedisAddress`) for many. Memory stores have no address;
/// they are passed as objects.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(std::string_view address);

}  // namespace muster::comm
