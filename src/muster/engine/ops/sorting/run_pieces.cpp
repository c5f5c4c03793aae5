#include "muster/engine/ops/sorting/run_pieces.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <sys/mman.h>
#include <utility>

namespace muster::engine {

namespace {

/// Large blocks have pages of this size; to take a part of one would break it up.
constexpr std::uintptr_t kPage = std::uintptr_t{2} << 20;

/// A share in a run; the items between `first` and `last` go with it.
struct SpentItems {
  SpentItems(Array from, std::byte* from_item, std::byte* to_item)
      : run(std::move(from)), first(from_item), last(to_item) {}
  SpentItems(const SpentItems&) = delete;
  SpentItems& operator=(const SpentItems&) = delete;
  ~SpentItems() {
    const auto begin = (reinterpret_cast<std::uintptr_t>(first) + kPage - 1) / kPage * kPage;
    const auto end = reinterpret_cast<std::uintptr_t>(last) / kPage * kPage;
    if (begin < end) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }

  Array run;
  std::byte* first;
  std::byte* last;
};

}  // namespace

std::vector<Array> pieces_of(Array run, std::span<const PieceRange> ranges) {
  const bool spends = run.is_sole();
  const auto item = static_cast<Index>(run.item_size());
  std::byte* const items = run.mutable_data();
  std::vector<Array> pieces;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto [begin, end] = ranges[i];
    Array piece = run.slice({begin}, {end - begin});
    if (spends && i % 4 == 1) {
      const Index first = std::max(begin, ranges[i - 1].end);
      const Index last = i + 1 < ranges.size() ? std::min(end, ranges[i + 1].begin) : end;
      piece = Array::share(piece.dtype(), piece.shape(), piece.strides(), piece.data(),
                           std::make_shared<const SpentItems>(
                               run, items + first * item, items + std::max(first, last) * item));
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace muster::engine
