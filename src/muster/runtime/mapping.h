#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster {

enum class Populate : bool { no, yes };

/// Owns a shared mapping of a whole file or memory file.
class Mapping {
 public:
  Mapping() = default;
  /// `Populate::yes` brings the pages in now rather than one fault at a time.
  [[nodiscard]] static Result<Mapping> map(int fd, std::size_t bytes,
                                           Populate populate = Populate::no);

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

}  // namespace muster
