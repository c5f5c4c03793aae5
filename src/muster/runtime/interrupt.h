#pragma once

#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster {

/// Ends a sleep in poll(2) from another thread. A set that comes before the sleep is kept for it;
/// several sets count as one. Thread-safe.
class Interrupt {
 public:
  [[nodiscard]] static Result<Interrupt> create();

  void set() const;
  /// True once after one or more sets.
  [[nodiscard]] bool take() const;
  /// Readable while set.
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  explicit Interrupt(FileDescriptor fd) : fd_(std::move(fd)) {}

  FileDescriptor fd_;
};

}  // namespace muster
