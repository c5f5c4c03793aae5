#pragma once

#include <cstddef>
#include <span>

#include "muster/base/buffer.h"

namespace muster::engine {

/// Writes all of it where the file stands. 0, or the error number.
[[nodiscard]] int write_all(int fd, ByteSpan bytes);

/// Reads until `bytes` is full or the file ends; `got` says how far. 0, or the error number.
[[nodiscard]] int read_all(int fd, std::span<std::byte> bytes, std::size_t& got);

}  // namespace muster::engine
