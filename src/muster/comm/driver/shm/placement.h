#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/driver/shm/arena.h"
#include "muster/comm/message/body.h"

namespace muster::comm::shm {

/// Where the buffers of one body go: what lies in the arena already is sent as it is, the rest goes
/// into the ring when it is small, or else is copied together into one block.
struct Placement {
  struct Piece {
    std::shared_ptr<Block> block;
    std::size_t offset = 0;  ///< in the segment
    std::size_t bytes = 0;
  };
  std::vector<Piece> pieces;
  std::vector<std::uint16_t> piece_of;  ///< by buffer; kInRing: in the ring
  std::size_t ring_bytes = 0;           ///< of the buffers that go there
  std::size_t copied_bytes = 0;         ///< of the block that is still to be made; 0: none
  std::size_t block_bytes = 0;          ///< of all pieces

  /// Pieces, counting the one that is still to be made.
  [[nodiscard]] std::size_t piece_count() const {
    return pieces.size() + (copied_bytes != 0 ? 1 : 0);
  }
};

/// Places bodies in an arena. A body that goes to many peers is copied once. Only with the proxy's
/// lock held.
class Placer {
 public:
  Placer(Arena& arena, std::size_t inline_bytes) : arena_(arena), inline_bytes_(inline_bytes) {}

  [[nodiscard]] Arena& arena() { return arena_; }
  [[nodiscard]] std::size_t inline_bytes() const { return inline_bytes_; }

  /// Decides, without effect. The answer is valid until the next call.
  [[nodiscard]] Placement& plan(const Body& body);
  /// Copies what is to be copied. `Errc::would_block`: the arena is full.
  [[nodiscard]] Result<void> fill(const Body& body, Placement& placement, Force force);

 private:
  struct Source {
    std::weak_ptr<const void> owner;  // weak, so that no other can take its place unnoticed
    const std::byte* data;
    std::size_t bytes;
  };
  [[nodiscard]] std::shared_ptr<Block> copied_before(const Body& body,
                                                     const Placement& placement) const;
  void remember(const Body& body, const Placement& placement, const std::shared_ptr<Block>& block);

  Arena& arena_;  // the driver's, as this is
  std::size_t inline_bytes_;
  Placement placement_;
  std::vector<Source> last_sources_;
  std::weak_ptr<Block> last_copy_;
};

}  // namespace muster::comm::shm
