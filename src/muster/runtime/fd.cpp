#include "muster/runtime/fd.h"

#include <unistd.h>

namespace muster {

void FileDescriptor::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace muster
