#pragma once

#include <memory>
#include <string_view>

#include "muster/base/result.h"
#include "muster/comm/discovery/store.h"
#include "muster/comm/driver/context.h"

namespace muster::comm {

/// The store behind an address: "" or "file:" (the default folder) and "file:/folder" for one host,
/// "tcp://host:port" (a `StoreServer`) and a Redis URL or "host:port" (see `net::RedisAddress`) for
/// many. Memory stores have no address; they are passed as objects. `security` is how to prove
/// oneself to a `StoreServer`.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(std::string_view address,
                                                        const Security& security = {});

}  // namespace muster::comm
