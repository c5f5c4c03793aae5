#include "muster/comm/link/batch.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster::comm {

std::size_t batch_bytes(const Message& message, InstanceId sender) {
  return record_bytes(message, sender) + message.body.size();
}

void Batch::add(const Message& message) {
  const std::size_t record = record_bytes(message, sender_);
  std::size_t needed = record;
  const std::size_t buffers = message.body.buffer_count();
  for (std::size_t i = 0; i < buffers; ++i) {
    const std::size_t size = message.body.buffer(i).size();
    if (size <= kInlineBufferBytes) needed += size;
  }
  std::byte* out = grow(needed);
  encode_record(message, sender_, out);
  out += record;
  for (std::size_t i = 0; i < buffers; ++i) {
    const Buffer& buffer = message.body.buffer(i);
    if (buffer.size() > kInlineBufferBytes) {
      part_bytes_ += buffer.size();
      parts_.push_back(buffer);
    } else if (!buffer.empty()) {
      std::memcpy(out, buffer.data(), buffer.size());
      out += buffer.size();
    }
  }
  ++records_;
}

FinishedBatch Batch::finish() {
  std::byte* const header = memory_.get();
  FinishedBatch finished{.frame = {.head = Buffer::share({header, used_}, std::move(memory_)),
                                   .parts = std::move(parts_)},
                         .header = header,
                         .records = records_};
  memory_.reset();
  parts_.clear();
  last_used_ = used_;
  capacity_ = 0;
  used_ = kFrameHeaderBytes;
  records_ = 0;
  part_bytes_ = 0;
  return finished;
}

std::byte* Batch::grow(std::size_t bytes) {
  if (used_ + bytes > capacity_) {
    const std::size_t wanted = std::max({used_ + bytes, 2 * capacity_, memory_ ? 0 : last_used_});
    auto larger = std::make_shared_for_overwrite<std::byte[]>(wanted);
    if (memory_) std::memcpy(larger.get(), memory_.get(), used_);
    memory_ = std::move(larger);
    capacity_ = wanted;
  }
  return memory_.get() + std::exchange(used_, used_ + bytes);
}

}  // namespace muster::comm
