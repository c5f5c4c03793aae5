#pragma once

#include <string>

#include "muster/base/result.h"

namespace muster::comm {

/// 64 random hexadecimal digits that processes of this user on this host share: made once, in the
/// folder of the file store, readable by its owner only. Who knows it is us; other users of the
/// host, who can reach loopback ports as well as we can, do not.
[[nodiscard]] Result<std::string> user_key();

}  // namespace muster::comm
