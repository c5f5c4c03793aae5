#include "muster/engine/ops/reduction/partial.h"

#include <cstring>

namespace muster::engine {

namespace {

constexpr Index kNumber = sizeof(Index);

/// Where the numbers begin: after the accumulators, aligned.
Index trailer_at(const ReduceLoop& loop, Index count) {
  return (count * static_cast<Index>(loop.state) + kNumber - 1) / kNumber * kNumber;
}

}  // namespace

Index Partial::byte_count(const ReduceLoop& loop, const Shape& kept) {
  if (!is_known(kept)) return kUnknown;
  return trailer_at(loop, volume(kept)) + kNumber * static_cast<Index>(1 + kept.size());
}

Partial::Partial(Memory& memory, const ReduceLoop& loop, const Shape& kept)
    : loop_(loop), kept_(kept), array_(memory, Type::u8, {byte_count(loop, kept)}) {
  loop_.start(array_.mutable_data(), static_cast<std::size_t>(count()));
}

Partial::Partial(const Array& bytes, const ReduceLoop& loop, std::size_t ndim)
    : loop_(loop), kept_(ndim), array_(bytes) {
  const std::byte* const numbers =
      bytes.data() + bytes.size() - kNumber * static_cast<Index>(1 + ndim);
  std::memcpy(&items_, numbers, kNumber);
  if (ndim > 0) std::memcpy(kept_.data(), numbers + kNumber, ndim * kNumber);
}

Array Partial::packed() {
  std::byte* const numbers = array_.mutable_data() + trailer_at(loop_, count());
  std::memcpy(numbers, &items_, kNumber);
  if (!kept_.empty()) std::memcpy(numbers + kNumber, kept_.data(), kept_.size() * kNumber);
  return array_;
}

}  // namespace muster::engine
