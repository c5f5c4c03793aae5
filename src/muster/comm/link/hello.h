#pragma once

#include <string>
#include <string_view>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/comm/discovery/entry.h"

namespace muster::comm {

/// What a hello frame carries: which group the sender belongs to, and its registry entry.
struct Hello {
  std::string group;
  Entry entry;
};

[[nodiscard]] std::string encode_hello(std::string_view group, const Entry& entry);
[[nodiscard]] Result<Hello> decode_hello(ByteSpan payload);

}  // namespace muster::comm
