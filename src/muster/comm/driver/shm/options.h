#pragma once

#include <cstddef>

namespace muster::comm {

struct ShmOptions {
  /// The ring to one peer; rounded up to a power of two of at least 64 KiB, which any record fits.
  std::size_t ring_bytes = std::size_t{256} << 10;
  /// Bodies up to this size are copied through the ring, larger ones go through the arena.
  std::size_t inline_bytes = std::size_t{8} << 10;
  /// Bound of the arena. A single body may exceed it when nothing else is on its way.
  std::size_t arena_bytes = std::size_t{1} << 30;
};

}  // namespace muster::comm
