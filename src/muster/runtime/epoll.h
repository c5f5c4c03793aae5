#pragma once

#include <cstdint>
#include <vector>

#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster {

/// Watches descriptors for something to read or their end. Not thread-safe; `fd()` may be watched
/// by another thread.
class Epoll {
 public:
  [[nodiscard]] static Result<Epoll> create();

  /// Readable when one of those watched is.
  [[nodiscard]] int fd() const { return fd_.get(); }

  [[nodiscard]] Result<void> add(int fd, std::uint64_t key);
  /// To be called before the descriptor is closed when others share it; else closing is enough.
  void remove(int fd);

  /// The keys of those that are readable now, without waiting. A descriptor that was removed
  /// meanwhile may still be among them.
  [[nodiscard]] std::vector<std::uint64_t> ready();

 private:
  explicit Epoll(FileDescriptor fd) : fd_(std::move(fd)) {}

  FileDescriptor fd_;
};

}  // namespace muster
