#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/runtime/fd.h"
#include "muster/runtime/mapping.h"

namespace muster::engine {

/// Where a block lies in an arena: what is told to readers in other processes.
struct BlockPlace {
  std::size_t offset = 0;
  std::size_t length = 0;
  bool operator==(const BlockPlace&) const = default;
};

/// Shared memory that one process writes and others may read. It has no name, so nothing of it is
/// left when its last user dies, however that happens.
class Arena {
 public:
  /// `place`: a folder such as /dev/shm, whose size then limits the arena (`plasmaStore`), or empty
  /// for anonymous memory. Fails when there is less room than `bytes` now.
  [[nodiscard]] static Result<Arena> open(const std::string& place, std::size_t bytes);

  [[nodiscard]] std::byte* data() const { return mapping_.data(); }
  [[nodiscard]] std::size_t size() const { return mapping_.size(); }

  /// Must come before the block is touched: takes its pages from the system now, so that a lack of
  /// them is an error here and not SIGBUS later. They are kept. Thread-safe.
  [[nodiscard]] Result<void> reserve(BlockPlace block);

  /// A descriptor with which others can map the arena, but not write to it.
  [[nodiscard]] Result<FileDescriptor> reader_file() const;

 private:
  Arena(std::string place, FileDescriptor file, Mapping mapping);

  std::string place_;
  FileDescriptor file_;
  Mapping mapping_;
  std::vector<std::atomic<bool>> reserved_;  ///< for each segment
};

/// The arena of another process.
class ArenaReader {
 public:
  /// `file` as it came from `Arena::reader_file`; it may be closed afterwards.
  [[nodiscard]] static Result<ArenaReader> map(const FileDescriptor& file);

  /// The bytes of a block, which stay valid and unchanged while the owner keeps it pinned for us.
  [[nodiscard]] Result<ByteSpan> at(BlockPlace block) const;

 private:
  explicit ArenaReader(Mapping mapping) : mapping_(std::move(mapping)) {}
  Mapping mapping_;
};

}  // namespace muster::engine
