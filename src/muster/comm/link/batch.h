#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/comm/link/frame.h"
#include "muster/comm/message/message.h"

namespace muster::comm {

/// A data frame whose header can still be written.
struct FinishedBatch {
  Frame frame;
  std::byte* header =
      nullptr;  // in the memory of `frame.head`; written before the frame is first handed over
  std::uint32_t records = 0;
};

/// Messages that will leave together in one data frame. Not thread-safe.
class Batch {
 public:
  explicit Batch(InstanceId sender) : sender_(sender) {}

  [[nodiscard]] bool empty() const { return records_ == 0; }
  [[nodiscard]] std::uint32_t records() const { return records_; }
  /// Records and all buffers, without the frame's header.
  [[nodiscard]] std::size_t bytes() const { return used_ - kFrameHeaderBytes + part_bytes_; }

  /// Copies the record and the small buffers, and shares the large ones.
  void add(const Message& message);
  [[nodiscard]] FinishedBatch finish();

 private:
  std::byte* grow(std::size_t bytes);

  InstanceId sender_;
  std::shared_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t used_ = kFrameHeaderBytes;
  std::size_t last_used_ =
      0;  // how large the previous batch became: the next one is likely to be alike
  std::uint32_t records_ = 0;
  std::vector<Buffer> parts_;
  std::size_t part_bytes_ = 0;
};

/// What `add` will add to `bytes`.
[[nodiscard]] std::size_t batch_bytes(const Message& message, InstanceId sender);

}  // namespace muster::comm
