#include "muster/service/worker/arena_blocks.h"

#include <utility>

#include "muster/service/protocol/chunks.h"

namespace muster::service {

namespace {

/// Keeps the block while arrays share it: as a writer until it is sealed, then as a pin.
struct Block {
  explicit Block(engine::ChunkWriter of) : writer(std::move(of)) {}

  engine::ChunkWriter writer;
  std::optional<engine::PinnedChunk> sealed;
};

/// By its type an array's owner is known as one of these.
struct Release {
  std::shared_ptr<Block> block;
  void operator()(std::byte*) noexcept { block.reset(); }
};

}  // namespace

std::shared_ptr<std::byte> ArenaBlocks::take(std::size_t bytes) {
  auto writer = store_->take_block(kChunkHeader + bytes);
  if (!writer) return nullptr;
  std::byte* const items = writer->bytes().data() + kChunkHeader;
  return {items, Release{std::make_shared<Block>(std::move(*writer))}};
}

std::optional<Result<void>> ArenaBlocks::seal(const engine::Array& array, engine::ChunkKey key,
                                              double seconds) {
  const Release* const release = std::get_deleter<Release>(array.owner());
  if (release == nullptr || array.owner().get() != array.data() || !array.is_c_contiguous())
    return {};
  Block& block = *release->block;
  const std::span<std::byte> bytes = block.writer.bytes();
  // Sealed before (two outputs that are one array), or only a part of it.
  if (block.sealed || bytes.size() != kChunkHeader + array.nbytes()) return {};
  write_chunk_header(bytes.first<kChunkHeader>(), {array.dtype(), array.shape()});
  auto sealed = block.writer.seal_as(key, seconds);
  if (!sealed) return Result<void>(fail(sealed.error()));
  block.sealed = std::move(*sealed);
  return Result<void>();
}

}  // namespace muster::service
