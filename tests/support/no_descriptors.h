#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include "muster/runtime/fd.h"

namespace muster::test {

/// Leaves no descriptor to take until it goes. Not for AddressSanitizer's build: UBSan looks at
/// objects through a pipe, and takes its absence for a bad object.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const FileDescriptor lowest_free(::dup(2));
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(lowest_free.get());
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace muster::test
