#include "muster/runtime/interrupt.h"

#include <cerrno>
#include <sys/eventfd.h>

namespace muster {

Result<Interrupt> Interrupt::create() {
  FileDescriptor fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!fd) return fail(system_error(errno, "eventfd"));
  return Interrupt(std::move(fd));
}

void Interrupt::set() const { ::eventfd_write(fd_.get(), 1); }

bool Interrupt::take() const {
  eventfd_t sets = 0;
  return ::eventfd_read(fd_.get(), &sets) == 0;
}

}  // namespace muster
