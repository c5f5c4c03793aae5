#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "muster/comm/driver/ucx/port.h"
#include "muster/comm/driver/ucx/wire.h"
#include "muster/comm/link/frame.h"

namespace muster::comm {

/// A frame that is being cut into chunks. It stays where it is until the last chunk has left: the
/// port refers to its bytes.
class UcxParcel {
 public:
  UcxParcel(Frame frame, std::uint64_t number);
  UcxParcel(const UcxParcel&) = delete;
  UcxParcel& operator=(const UcxParcel&) = delete;

  struct Cut {
    UcxChunk header;  ///< without way and token
    std::array<UcxPiece, kUcxMaxPieces> pieces;
    std::size_t count = 0;
    std::size_t bytes = 0;
  };
  /// Cuts the next chunk off, with at most so many bytes.
  [[nodiscard]] Cut next(std::size_t most);
  [[nodiscard]] bool finished() const { return offset_ == total_; }

 private:
  [[nodiscard]] ByteSpan piece(std::size_t index) const;

  Frame frame_;
  std::vector<std::uint64_t> part_bytes_;
  std::uint64_t number_;
  std::uint64_t offset_ = 0;
  std::uint64_t total_ = 0;
  std::size_t piece_ = 0;   // in which the next chunk begins
  std::size_t within_ = 0;  // and where in that
};

}  // namespace muster::comm
