#pragma once

#include <memory>
#include <string_view>

#include "muster/comm/discovery/store.h"

namespace muster::comm {

/// The store that an address names: "" or "file:" (the default folder), "file:/path", "redis://…".
/// Others are an error that names these.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(std::string_view address);

}  // namespace muster::comm
