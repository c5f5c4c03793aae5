#include "muster/engine/storage/spill_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "muster/engine/storage/compression.h"
#include "muster/engine/storage/errc.h"
#include "muster/engine/storage/file_bytes.h"
#include "muster/engine/storage/spill_header.h"
#include "muster/runtime/fd.h"

namespace muster::engine {
namespace {

// The length before each block of a compressed body; this bit says that the block is as it was.
constexpr std::uint32_t kPlain = 0x8000'0000u;

/// Fails before anything is written when the disk has no room, and keeps the file in one piece.
int reserve(int fd, std::size_t bytes) {
  if (::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0) return 0;
  return errno == EOPNOTSUPP || errno == EINTR || errno == ENOSYS ? 0 : errno;
}

int write_compressed(int fd, ByteSpan bytes, SpillCompression compression, std::size_t& written) {
  std::vector<std::byte> packed(sizeof(std::uint32_t) + compressed_bound(compression));
  const std::span<std::byte> room = std::span(packed).subspan(sizeof(std::uint32_t));
  while (!bytes.empty()) {
    const ByteSpan block = bytes.first(std::min(bytes.size(), kCompressionBlock));
    std::size_t length = compress_block(compression, block, room);
    std::uint32_t mark = static_cast<std::uint32_t>(length);
    if (length == 0) {
      length = block.size();
      mark = static_cast<std::uint32_t>(length) | kPlain;
      std::memcpy(room.data(), block.data(), length);
    }
    std::memcpy(packed.data(), &mark, sizeof mark);
    if (const int error = write_all(fd, ByteSpan(packed).first(sizeof mark + length))) return error;
    written += sizeof mark + length;
    bytes = bytes.subspan(block.size());
  }
  return 0;
}

/// Takes away what a longer chunk left in the file before.
int cut(int fd, std::size_t length) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return errno;
  if (static_cast<std::uint64_t>(status.st_size) == length) return 0;
  return ::ftruncate(fd, static_cast<off_t>(length)) == 0 ? 0 : errno;
}

/// The header comes last: only then its lengths are known.
int write_chunk(int fd, ByteSpan bytes, SpillHeader& header) {
  const bool plain = header.compression == SpillCompression::none;
  if (plain) {
    if (const int error = reserve(fd, SpillHeader::kBytes + bytes.size())) return error;
  }
  header.chunk_bytes = bytes.size();
  header.checksum = spill_checksum(bytes);
  if (::lseek(fd, SpillHeader::kBytes, SEEK_SET) < 0) return errno;
  std::size_t written = plain ? bytes.size() : 0;
  const int error =
      plain ? write_all(fd, bytes) : write_compressed(fd, bytes, header.compression, written);
  if (error != 0) return error;
  header.body_bytes = written;
  if (::lseek(fd, 0, SEEK_SET) < 0) return errno;
  return write_all(fd, encode(header));
}

tl::unexpected<Error> corrupt(const std::string& path, ChunkKey key, std::string_view why) {
  return fail(StorageErrc::corrupt,
              fmt::format("spill file '{}' of chunk {} {}: the chunk must be recomputed", path,
                          to_string(key), why));
}

Result<void> cannot_read(const std::string& path, int error) {
  return fail(system_error(error, fmt::format("read spill file '{}'", path)));
}

/// Reads exactly `bytes`, which the length of the file promised.
Result<void> read_part(int fd, const std::string& path, ChunkKey key, std::span<std::byte> bytes) {
  std::size_t got = 0;
  if (const int error = read_all(fd, bytes, got)) {
    // A bad sector stays bad: what it held is as lost as with a wrong checksum.
    if (error == EIO) return corrupt(path, key, "cannot be read (input/output error)");
    return cannot_read(path, error);
  }
  if (got != bytes.size()) return corrupt(path, key, "ends too early");
  return {};
}

Result<void> read_compressed(int fd, const std::string& path, const SpillHeader& header,
                             std::span<std::byte> into) {
  std::vector<std::byte> packed(compressed_bound(header.compression));
  std::uint64_t left = header.body_bytes;
  while (!into.empty()) {
    const auto block = into.first(std::min(into.size(), kCompressionBlock));
    std::uint32_t mark = 0;
    if (left < sizeof mark) return corrupt(path, header.key, "ends too early");
    if (auto ok = read_part(fd, path, header.key, std::as_writable_bytes(std::span(&mark, 1))); !ok)
      return ok;
    const std::size_t length = mark & ~kPlain;
    left -= sizeof mark;
    if (length > packed.size() || length > left)
      return corrupt(path, header.key, fmt::format("has a block of {} bytes", length));
    left -= length;
    const auto part = std::span(packed).first(length);
    if (auto ok = read_part(fd, path, header.key, part); !ok) return ok;
    if ((mark & kPlain) != 0 && length == block.size()) {
      std::memcpy(block.data(), part.data(), length);
    } else if ((mark & kPlain) != 0 || !decompress_block(header.compression, part, block)) {
      return corrupt(path, header.key, "has a block that cannot be decompressed");
    }
    into = into.subspan(block.size());
  }
  if (left != 0) return corrupt(path, header.key, "is longer than its chunk");
  return {};
}

Result<SpillHeader> read_header(int fd, const std::string& path, ChunkKey key, std::size_t bytes) {
  struct stat status{};
  if (::fstat(fd, &status) != 0)
    return fail(system_error(errno, fmt::format("read spill file '{}'", path)));
  const auto length = static_cast<std::uint64_t>(status.st_size);
  std::array<std::byte, SpillHeader::kBytes> first{};
  if (length < first.size()) return corrupt(path, key, fmt::format("has only {} bytes", length));
  if (auto ok = read_part(fd, path, key, first); !ok) return fail(ok.error());
  const auto header = decode_spill_header(first);
  if (!header) return corrupt(path, key, "has a damaged header");
  if (header->key != key || header->chunk_bytes != bytes)
    return corrupt(path, key,
                   fmt::format("holds chunk {} of {} bytes instead of {} bytes",
                               to_string(header->key), header->chunk_bytes, bytes));
  if (header->body_bytes != length - first.size())
    return corrupt(
        path, key,
        fmt::format("has {} bytes instead of {}", length, header->body_bytes + first.size()));
  return *header;
}

}  // namespace

Result<std::size_t> write_spill_file(const std::string& path, ChunkKey key, ByteSpan bytes,
                                     SpillCompression compression, const std::string& spare) {
  const std::string unfinished = spare.empty() ? path + ".tmp" : spare;
  const int create = spare.empty() ? O_CREAT | O_EXCL : O_NOFOLLOW;
  const FileDescriptor fd(::open(unfinished.c_str(), O_WRONLY | create | O_CLOEXEC, 0600));
  if (!fd) return fail(system_error(errno, fmt::format("create '{}'", unfinished)));
  SpillHeader header{.compression = compression, .key = key};
  int error = write_chunk(fd.get(), bytes, header);
  if (error == 0 && !spare.empty()) error = cut(fd.get(), SpillHeader::kBytes + header.body_bytes);
  if (error == 0 && ::rename(unfinished.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return SpillHeader::kBytes + header.body_bytes;
  ::unlink(unfinished.c_str());
  return fail(system_error(error, fmt::format("write {} bytes to '{}'", bytes.size(), path)));
}

Result<void> read_spill_file(const std::string& path, ChunkKey key, std::span<std::byte> into) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == ENOENT) return corrupt(path, key, "is gone");
  if (!fd) return cannot_read(path, errno);
  const auto header = read_header(fd.get(), path, key, into.size());
  if (!header) return fail(header.error());
  const auto read = header->compression == SpillCompression::none
                        ? read_part(fd.get(), path, key, into)
                        : read_compressed(fd.get(), path, *header, into);
  if (!read) return read;
  if (spill_checksum(into) != header->checksum) return corrupt(path, key, "has a wrong checksum");
  return {};
}

}  // namespace muster::engine
