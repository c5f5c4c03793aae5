#pragma once

#include <system_error>

namespace muster::engine {

/// The expected failures of keeping chunks.
enum class StorageErrc {
  absent = 1,    ///< no chunk of this key is here
  exists,        ///< the key is taken
  too_large,     ///< the chunk is larger than the whole arena
  no_room,       ///< everything is pinned, or there is nowhere to spill to
  disk_full,     ///< no spill directory has room
  spill_failed,  ///< no spill directory could be written, or a file not be read now
  corrupt,       ///< what was spilled cannot be read back: the chunk must be recomputed
  no_memory,     ///< the machine has less memory than the arena was promised
  invalid,       ///< options that cannot be
  timeout,       ///< the deadline passed while another thread was writing or loading the chunk
  closed,        ///< the store was stopped
};

std::error_code make_error_code(StorageErrc errc);

}  // namespace muster::engine

template <>
struct std::is_error_code_enum<muster::engine::StorageErrc> : std::true_type {};
