#include "muster/comm/driver/shm/placement.h"

#include <cstring>

#include "muster/comm/driver/shm/frame.h"

namespace muster::comm::shm {
namespace {

// Stands for the block that is still to be made.
constexpr std::uint16_t kToCopy = kInRing - 1;

template <class Function>
void for_each_copied(const Body& body, const Placement& placement, Function function) {
  for (std::size_t i = 0; i < body.buffer_count(); ++i) {
    if (placement.piece_of[i] == kToCopy) function(body.buffer(i));
  }
}

}  // namespace

Placement& Placer::plan(const Body& body) {
  Placement& placement = placement_;
  placement.pieces.clear();
  placement.piece_of.assign(body.buffer_count(), kInRing);
  placement.ring_bytes = placement.copied_bytes = placement.block_bytes = 0;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < body.buffer_count(); ++i) {
    const Buffer& buffer = body.buffer(i);
    auto block = placement.pieces.size() < kMaxBlocks - 1 && buffer.owner()
                     ? arena_.find(buffer.data(), buffer.size())
                     : nullptr;
    if (!block) {
      placement.ring_bytes += buffer.size();
      copied += round_up(buffer.size(), kAlignment);
      continue;
    }
    const auto offset = static_cast<std::size_t>(buffer.data() - block->segment().memory.data());
    placement.piece_of[i] = static_cast<std::uint16_t>(placement.pieces.size());
    placement.block_bytes += buffer.size();
    placement.pieces.push_back({std::move(block), offset, buffer.size()});
  }
  if (placement.ring_bytes <= inline_bytes_) return placement;
  placement.ring_bytes = 0;
  placement.copied_bytes = copied;
  placement.block_bytes += copied;
  for (std::uint16_t& piece : placement.piece_of) {
    if (piece == kInRing) piece = kToCopy;
  }
  return placement;
}

Result<void> Placer::fill(const Body& body, Placement& placement, Force force) {
  if (placement.copied_bytes == 0) return {};
  auto block = copied_before(body, placement);
  if (!block) {
    auto made = arena_.allocate(placement.copied_bytes, force);
    if (!made) return fail(std::move(made).error());
    block = *std::move(made);
    std::byte* out = block->data();
    for_each_copied(body, placement, [&out](const Buffer& buffer) {
      if (!buffer.empty()) std::memcpy(out, buffer.data(), buffer.size());
      out += round_up(buffer.size(), kAlignment);
    });
    remember(body, placement, block);
  }
  const auto index = static_cast<std::uint16_t>(placement.pieces.size());
  for (std::uint16_t& piece : placement.piece_of) {
    if (piece == kToCopy) piece = index;
  }
  const std::size_t offset = block->offset();
  placement.pieces.push_back({std::move(block), offset, placement.copied_bytes});
  placement.copied_bytes = 0;
  return {};
}

std::shared_ptr<Block> Placer::copied_before(const Body& body, const Placement& placement) const {
  auto block = last_copy_.lock();
  if (!block) return nullptr;
  std::size_t next = 0;
  bool same = true;
  for_each_copied(body, placement, [&](const Buffer& buffer) {
    same = same && next < last_sources_.size() && last_sources_[next].data == buffer.data() &&
           last_sources_[next].bytes == buffer.size() &&
           last_sources_[next].owner.lock() == buffer.owner() && buffer.owner();
    ++next;
  });
  return same && next == last_sources_.size() ? block : nullptr;
}

void Placer::remember(const Body& body, const Placement& placement,
                      const std::shared_ptr<Block>& block) {
  last_sources_.clear();
  last_copy_ = block;
  for_each_copied(body, placement, [this](const Buffer& buffer) {
    last_sources_.push_back({buffer.owner(), buffer.data(), buffer.size()});
  });
}

}  // namespace muster::comm::shm
