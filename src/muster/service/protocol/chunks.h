#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/comm/message/body.h"
#include "muster/engine/graph/tensor.h"
#include "muster/engine/schedule/ids.h"
#include "muster/engine/value/array.h"
#include "muster/runtime/process_memory.h"

namespace muster::service {

/// A chunk in a store and on the wire: a header of this many bytes (magic, version, dtype, number
/// of axes, up to 32 extents; little-endian, rest zero), then the items in C order without gaps.
/// The length is a multiple of the alignment that kernels want.
inline constexpr std::size_t kChunkHeader = 320;

void write_chunk_header(std::span<std::byte, kChunkHeader> into, const engine::Meta& meta);
/// Throws ArrayError where the header is not ours, or does not fit `bytes.size()`.
[[nodiscard]] engine::Meta read_chunk_header(ByteSpan bytes);
/// The items of a chunk, shared; `owner` keeps `bytes` alive.
[[nodiscard]] engine::Array chunk_array(ByteSpan bytes, std::shared_ptr<const void> owner);

/// Asks a worker for chunks.
struct GetChunks {
  std::vector<engine::ChunkId> chunks;
};
/// One buffer for each chunk that was asked for, with header; empty where the worker has it not.
/// One alone is the whole body, which is not copied; several are put together behind a table.
struct GotChunks {
  std::vector<Buffer> chunks;
};
/// Puts the bytes of several together, so that each may go before the next comes.
class GatheredChunks {
 public:
  explicit GatheredChunks(std::size_t count);
  /// The next one; empty where there is none.
  void add(ByteSpan chunk);
  /// When all were added.
  [[nodiscard]] comm::Body body() &&;

 private:
  std::vector<std::byte> bytes_;
  std::size_t next_ = 0;  ///< where the length of the next one stands
};
/// Gives a worker a chunk of uploaded data, with header. The reply is an Answer. On the wire the id
/// comes after the bytes, so that a buffer with room for it need not be copied.
struct PutChunk {
  engine::ChunkId chunk;
  Buffer bytes;
};
inline constexpr std::size_t kPutTrailer = 8;
[[nodiscard]] std::array<std::byte, kPutTrailer> put_trailer(engine::ChunkId chunk);

/// No chunk that comes from a client has more.
inline constexpr std::uint64_t kMostItemBytes = std::uint64_t{1} << 46;

/// Where a client has the items of a chunk. A worker that is on the same host copies them itself.
struct ClientMemory {
  std::string host;  ///< the client's `memory_host()`
  ProcessMemory process;
  std::uint64_t address = 0;
};
/// Tells a worker to take a chunk from a client's memory. The reply is an Answer, 409 where the
/// worker cannot: then the bytes have to be sent.
struct TakeChunk {
  engine::ChunkId chunk;
  engine::Meta meta;
  std::uint64_t bytes = 0;  ///< of the items
  ClientMemory from;
};

[[nodiscard]] comm::Body encode(const GetChunks& get);
[[nodiscard]] comm::Body encode(const GotChunks& got);
[[nodiscard]] comm::Body encode(const PutChunk& put);
[[nodiscard]] comm::Body encode(const TakeChunk& take);
/// Throw ArrayError for what is malformed.
[[nodiscard]] GetChunks read_get(const comm::Body& body);
/// `asked`: how many chunks were asked for.
[[nodiscard]] GotChunks read_got(const comm::Body& body, std::size_t asked);
[[nodiscard]] PutChunk read_put(const comm::Body& body);
[[nodiscard]] TakeChunk read_take(const comm::Body& body);

}  // namespace muster::service
