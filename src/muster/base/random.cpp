#include "muster/base/random.h"

#include <sys/random.h>

#include "muster/base/assert.h"

namespace muster {

std::uint64_t secure_random_u64() {
  std::uint64_t value = 0;
  // getrandom(2) gives up to 256 bytes whole once the pool is ready, and no signal can cut so short
  // a read.
  const auto got = ::getrandom(&value, sizeof value, 0);
  MUSTER_ASSERT(got == sizeof value, "the kernel gives short random reads whole");
  return value;
}

}  // namespace muster
