#include "muster/service/protocol/chunks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "muster/engine/wire/values.h"
#include "muster/service/protocol/ids.h"

namespace muster::service {

namespace {

using engine::ByteReader;
using engine::ByteWriter;
using engine::ChunkId;

constexpr std::string_view kMagic = "MCHK";
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kMostAxes = 32;

/// A part of a buffer, sharing its memory where it has an owner.
Buffer part_of(const Buffer& whole, ByteSpan part) {
  return whole.owner() ? Buffer::share(part, whole.owner()) : Buffer::copy_of(part);
}

}  // namespace

void write_chunk_header(std::span<std::byte, kChunkHeader> into, const engine::Meta& meta) {
  if (meta.shape.size() > kMostAxes)
    engine::wrong_value(
        fmt::format("a chunk has at most {} axes, not {}", kMostAxes, meta.shape.size()));
  ByteWriter out;
  out.raw(as_bytes(kMagic));
  out.number(kVersion);
  out.number(std::uint16_t{0});
  write_meta(out, meta);
  const std::vector<std::byte> bytes = out.take();
  std::ranges::fill(into, std::byte{0});
  std::ranges::copy(bytes, into.begin());
}

engine::Meta read_chunk_header(ByteSpan bytes) {
  ByteReader in(bytes.first(std::min(bytes.size(), kChunkHeader)));
  if (bytes.size() < kChunkHeader) in.refuse("a chunk without its header");
  if (as_text(in.raw(kMagic.size())) != kMagic) in.refuse("this is no chunk");
  const auto version = in.number<std::uint16_t>();
  if (version != kVersion)
    in.refuse(fmt::format("version {} of chunks, but this program reads {}", version, kVersion));
  (void)in.number<std::uint16_t>();
  engine::Meta meta = engine::read_meta(in);
  const auto items = static_cast<std::uint64_t>(engine::volume(meta.shape));
  const std::uint64_t room = (bytes.size() - kChunkHeader) / engine::item_size(meta.dtype);
  if (!engine::is_known(meta.shape) || items > room ||
      items * engine::item_size(meta.dtype) != bytes.size() - kChunkHeader)
    in.refuse(fmt::format("{} bytes for a chunk of {} {}", bytes.size() - kChunkHeader,
                          engine::name(meta.dtype), engine::text(meta.shape)));
  return meta;
}

engine::Array chunk_array(ByteSpan bytes, std::shared_ptr<const void> owner) {
  engine::Meta meta = read_chunk_header(bytes);
  engine::Strides strides = engine::c_strides(meta.shape, engine::item_size(meta.dtype));
  return engine::Array::share(meta.dtype, std::move(meta.shape), std::move(strides),
                              bytes.data() + kChunkHeader, std::move(owner));
}

comm::Body encode(const GetChunks& get) {
  ByteWriter out;
  write_ids(out, get.chunks);
  return comm::Body::bytes(Buffer::take(out.take()));
}

GetChunks read_get(const comm::Body& body) {
  ByteReader in(body.buffer().bytes());
  GetChunks get{read_ids<ChunkId>(in)};
  expect_end(in);
  return get;
}

comm::Body encode(const GotChunks& got) {
  if (got.chunks.size() == 1) return comm::Body::bytes(got.chunks.front());
  GatheredChunks gathered(got.chunks.size());
  for (const Buffer& chunk : got.chunks) gathered.add(chunk.bytes());
  return std::move(gathered).body();
}

GatheredChunks::GatheredChunks(std::size_t count) {
  ByteWriter out;
  out.count(count);
  bytes_ = out.take();
  next_ = bytes_.size();
  bytes_.resize(next_ + count * sizeof(std::uint64_t));
}

void GatheredChunks::add(ByteSpan chunk) {
  const std::uint64_t length = chunk.size();
  std::memcpy(bytes_.data() + next_, &length, sizeof length);
  next_ += sizeof length;
  bytes_.insert(bytes_.end(), chunk.begin(), chunk.end());
}

comm::Body GatheredChunks::body() && { return comm::Body::bytes(Buffer::take(std::move(bytes_))); }

GotChunks read_got(const comm::Body& body, std::size_t asked) {
  const Buffer whole = body.buffer().kept();
  if (asked == 1) return {{whole}};
  ByteReader in(whole.bytes());
  const std::size_t count = in.count(8);
  if (count != asked) in.refuse(fmt::format("{} chunks where {} were asked for", count, asked));
  std::vector<std::uint64_t> lengths(count);
  for (std::uint64_t& length : lengths) length = in.number<std::uint64_t>();
  GotChunks got;
  for (const std::uint64_t length : lengths) {
    if (length > in.left()) in.refuse(fmt::format("a chunk of {} bytes", length));
    got.chunks.push_back(part_of(whole, in.raw(static_cast<std::size_t>(length))));
  }
  expect_end(in);
  return got;
}

std::array<std::byte, kPutTrailer> put_trailer(ChunkId chunk) {
  ByteWriter out;
  write_id(out, chunk);
  std::array<std::byte, kPutTrailer> trailer;
  std::ranges::copy(out.take(), trailer.begin());
  return trailer;
}

comm::Body encode(const PutChunk& put) {
  ByteWriter out;
  out.raw(put.bytes.bytes());
  out.raw(put_trailer(put.chunk));
  return comm::Body::bytes(Buffer::take(out.take()));
}

PutChunk read_put(const comm::Body& body) {
  const Buffer whole = body.buffer().kept();
  const ByteSpan bytes = whole.bytes();
  ByteReader in(bytes.last(std::min(bytes.size(), kPutTrailer)));
  PutChunk put;
  put.chunk = read_id<ChunkId>(in);
  put.bytes = part_of(whole, bytes.first(bytes.size() - kPutTrailer));
  return put;
}

comm::Body encode(const TakeChunk& take) {
  ByteWriter out;
  write_id(out, take.chunk);
  write_meta(out, take.meta);
  out.text(take.from.host);
  for (const std::uint64_t number : {take.bytes, take.from.process.pid, take.from.process.proof,
                                     take.from.process.proof_at, take.from.address})
    out.number(number);
  return comm::Body::bytes(Buffer::take(out.take()));
}

TakeChunk read_take(const comm::Body& body) {
  ByteReader in(body.buffer().bytes());
  TakeChunk take;
  take.chunk = read_id<ChunkId>(in);
  take.meta = engine::read_meta(in);
  take.from.host = in.text();
  for (std::uint64_t* const number : {&take.bytes, &take.from.process.pid, &take.from.process.proof,
                                      &take.from.process.proof_at, &take.from.address})
    *number = in.number<std::uint64_t>();
  if (take.bytes > kMostItemBytes) in.refuse(fmt::format("a chunk of {} bytes", take.bytes));
  expect_end(in);
  return take;
}

}  // namespace muster::service
