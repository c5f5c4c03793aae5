#include "muster/engine/storage/compression.h"

#include <lz4.h>
#include <zstd.h>

namespace muster::engine {
namespace {

// The quickest of its usual levels: a spill should wait for the disk, not for the processor.
constexpr int kZstdLevel = 1;

std::size_t lz4_compress(ByteSpan block, std::span<std::byte> out) {
  const int length = LZ4_compress_default(
      reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(out.data()),
      static_cast<int>(block.size()), static_cast<int>(out.size()));
  return length > 0 ? static_cast<std::size_t>(length) : 0;
}

std::size_t zstd_compress(ByteSpan block, std::span<std::byte> out) {
  const std::size_t length =
      ZSTD_compress(out.data(), out.size(), block.data(), block.size(), kZstdLevel);
  return ZSTD_isError(length) != 0 ? 0 : length;
}

}  // namespace

std::size_t compressed_bound(SpillCompression compression) {
  switch (compression) {
    case SpillCompression::none: break;
    case SpillCompression::lz4: return LZ4_COMPRESSBOUND(kCompressionBlock);
    case SpillCompression::zstd: return ZSTD_compressBound(kCompressionBlock);
  }
  return kCompressionBlock;
}

std::size_t compress_block(SpillCompression compression, ByteSpan block, std::span<std::byte> out) {
  std::size_t length = 0;
  if (compression == SpillCompression::lz4) length = lz4_compress(block, out);
  if (compression == SpillCompression::zstd) length = zstd_compress(block, out);
  return length < block.size() ? length : 0;
}

bool decompress_block(SpillCompression compression, ByteSpan packed, std::span<std::byte> into) {
  if (compression == SpillCompression::lz4) {
    const int length = LZ4_decompress_safe(
        reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(into.data()),
        static_cast<int>(packed.size()), static_cast<int>(into.size()));
    return length >= 0 && static_cast<std::size_t>(length) == into.size();
  }
  if (compression == SpillCompression::zstd) {
    // Errors are numbers far above any size.
    return ZSTD_decompress(into.data(), into.size(), packed.data(), packed.size()) == into.size();
  }
  return false;
}

}  // namespace muster::engine
