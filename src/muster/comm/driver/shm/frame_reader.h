#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/comm/driver/shm/frame.h"
#include "muster/comm/driver/shm/short_frame.h"
#include "muster/comm/message/record.h"

namespace muster::comm::shm {

/// Finds the blocks that frames refer to.
class BlockSource {
 public:
  struct Piece {
    ByteSpan bytes;
    std::shared_ptr<const void> owner;  ///< null: the bytes are to be copied
  };
  [[nodiscard]] virtual Result<Piece> piece(const BlockReference& reference) = 0;

 protected:
  ~BlockSource() = default;
};

/// Makes messages of the frames of one sender. The frames lie in memory that somebody else may
/// write to at any time: everything is read once and checked. Not thread-safe.
class FrameReader {
 public:
  explicit FrameReader(InstanceId sender) : short_frames_(sender), decoder_(sender) {}

  /// Reads the frame at the front of `readable` and returns its length. What it holds is then in
  /// `message`, but for the names, which are left as they are; what was there before does not
  /// matter. `Errc::malformed` when it is no frame.
  [[nodiscard]] Result<std::size_t> read(ByteSpan readable, BlockSource& blocks, Message& message);

 private:
  [[nodiscard]] Result<void> read_body(ByteSpan rest, Body& body);
  [[nodiscard]] Result<void> read_body_with_blocks(ByteSpan rest, std::uint32_t blocks,
                                                   BlockSource& source, Body& body);

  ShortFrameReader short_frames_;
  RecordDecoder decoder_;
  BodyLayout layout_;
};

}  // namespace muster::comm::shm
