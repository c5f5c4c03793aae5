#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster {

enum class Populate : bool { no, yes };

enum class Access : bool { read_only, read_write };

/// Owns a shared mapping of a whole file or memory file.
class Mapping {
 public:
  Mapping() = default;
  /// `Populate::yes` brings the pages in now rather than one fault at a time.
  [[nodiscard]] static Result<Mapping> map(int fd, std::size_t bytes,
                                           Populate populate = Populate::no,
                                           Access access = Access::read_write);
  /// Maps `first` bytes and then the `ring` bytes after them twice in a row, so that whatever wraps
  /// around the end of the ring lies in one piece. Both are multiples of the page size. `size()`
  /// counts the ring twice.
  [[nodiscard]] static Result<Mapping> map_ring(int fd, std::size_t first, std::size_t ring);

  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Anonymous memory that can be passed to other processes by its descriptor and is gone with its
/// last user. The pages are reserved here: too little memory is an error now and never SIGBUS
/// later.
[[nodiscard]] Result<FileDescriptor> create_memory_file(std::string_view label, std::size_t bytes);

/// Whether the machine has so many bytes left. The kernel would take pages from everybody else,
/// down to the last, before it refused.
[[nodiscard]] bool has_memory(std::size_t bytes);

/// Reserves a part of a memory file that was made larger than what is in it.
[[nodiscard]] Result<void> reserve_memory(int fd, std::size_t offset, std::size_t bytes);

/// The size of a memory file that came from outside, if it can be trusted: made like those of
/// `create_memory_file`, so that it cannot shrink under a mapping and all of its pages exist.
[[nodiscard]] Result<std::size_t> memory_file_bytes(int fd);

}  // namespace muster
