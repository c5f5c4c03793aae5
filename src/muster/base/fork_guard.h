#pragma once

#include <cstdint>

namespace muster {

/// How many forks lie between the process that loaded Muster and this one. Objects with threads
/// remember it when they are made: where it differs, they were inherited through fork(2), their
/// threads do not exist here, and they must not be used. Thread-safe; costs a load.
[[nodiscard]] std::uint64_t fork_generation() noexcept;

}  // namespace muster
