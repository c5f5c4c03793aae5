#pragma once

#include <utility>
#include <vector>

#include "muster/engine/graph/tensor.h"

namespace muster::engine {

/// A computed tensor whose chunks are in this process.
class StoredChunks final : public Stored {
 public:
  StoredChunks(DType dtype, Splits splits, std::vector<Array> chunks)
      : dtype_(dtype), splits_(std::move(splits)), chunks_(std::move(chunks)) {}

  [[nodiscard]] const Splits& splits() const override { return splits_; }
  [[nodiscard]] DType dtype() const override { return dtype_; }
  [[nodiscard]] Array chunk(std::size_t number) const override { return chunks_[number]; }

 private:
  DType dtype_;
  Splits splits_;
  std::vector<Array> chunks_;
};

/// The chunks put together; itself if it is one.
[[nodiscard]] Array assemble(const Stored& stored, Memory& memory);
/// The items from `start` on, `extents` of them along each axis, which must be there. Touches only
/// the chunks that they are in.
[[nodiscard]] Array assemble_part(const Stored& stored, const Shape& start, const Shape& extents,
                                  Memory& memory);

}  // namespace muster::engine
