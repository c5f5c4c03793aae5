#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/discovery/store.h"
#include "muster/comm/driver/context.h"

namespace muster::comm {

struct ServedStoreOptions {
  /// How long a call may take before it is `Errc::store_unreachable`.
  Duration timeout = std::chrono::seconds(2);
  /// How long opening waits for a sign that the server does not want us.
  Duration greeting = std::chrono::milliseconds(500);
  /// A wait asks again after this long, to notice a server that fell silent.
  Duration slice = std::chrono::seconds(5);
};

/// The client of a `StoreServer` at "tcp://HOST:PORT". A server that is away is not an error here,
/// it may come; one that does not let us in is (`Errc::refused`). Later calls are
/// `Errc::store_unreachable` whatever the reason.
[[nodiscard]] Result<std::unique_ptr<Store>> make_served_store(std::string_view address,
                                                               const Security& security,
                                                               ServedStoreOptions options = {});

}  // namespace muster::comm
