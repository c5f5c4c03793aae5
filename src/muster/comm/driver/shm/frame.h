#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::comm::shm {

/// What lies in a ring, one after the other: a head, a record, and the buffers of the body. With
/// blocks, the record is padded to 8 bytes and followed by the blocks and, for each buffer, the
/// index of the block in which it lies (`kInRing`: none). Buffers without a block come last, one
/// after the other. A frame is padded to 8 bytes. Buffers that share a block lie in it in order,
/// each at the next multiple of `kAlignment`.
struct FrameHead {
  std::uint32_t bytes;   ///< of the whole frame
  std::uint32_t blocks;  ///< the highest bit is set in a `ShortHead`
};
static_assert(sizeof(FrameHead) == 8);

/// A piece of one of the sender's segments.
struct BlockReference {
  std::uint32_t segment;
  std::uint32_t slot;  ///< to be cleared when the last buffer that refers to it is gone
  std::uint64_t offset;
  std::uint64_t bytes;
};
static_assert(sizeof(BlockReference) == 24);

inline constexpr std::uint16_t kInRing = 0xFFFF;
/// Of one frame. What else lies in the arena is copied together into one block.
inline constexpr std::uint32_t kMaxBlocks = 64;
/// Of buffers in a block: a cache line, and enough for any vector instruction.
inline constexpr std::size_t kAlignment = 64;

[[nodiscard]] constexpr std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) & ~(to - 1);
}

}  // namespace muster::comm::shm
