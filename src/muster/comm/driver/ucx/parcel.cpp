#include "muster/comm/driver/ucx/parcel.h"

#include <algorithm>
#include <utility>

namespace muster::comm {

UcxParcel::UcxParcel(Frame frame, std::uint64_t number)
    : frame_(std::move(frame)), number_(number) {
  for (const Buffer& part : frame_.parts) part_bytes_.push_back(part.size());
  total_ = part_bytes_.size() * sizeof(std::uint64_t) + frame_.bytes();
}

ByteSpan UcxParcel::piece(std::size_t index) const {
  if (index == 0) return std::as_bytes(std::span(part_bytes_));
  if (index == 1) return frame_.head.bytes();
  return frame_.parts[index - 2].bytes();
}

UcxParcel::Cut UcxParcel::next(std::size_t most) {
  Cut cut{.header = {.parts = static_cast<std::uint32_t>(part_bytes_.size()),
                     .frame = number_,
                     .offset = offset_,
                     .head_bytes = frame_.head.size(),
                     .total_bytes = total_},
          .pieces = {}};
  while (piece_ < part_bytes_.size() + 2 && cut.bytes < most && cut.count < cut.pieces.size()) {
    const ByteSpan rest = piece(piece_).subspan(within_);
    const std::size_t taken = std::min(rest.size(), most - cut.bytes);
    if (taken != 0) cut.pieces[cut.count++] = {rest.data(), taken};
    cut.bytes += taken;
    within_ += taken;
    if (taken < rest.size()) break;
    ++piece_;
    within_ = 0;
  }
  offset_ += cut.bytes;
  return cut;
}

}  // namespace muster::comm
