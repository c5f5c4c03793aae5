#include "muster/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace muster::detail {

void assertion_failed(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: muster is wrong: (%s) does not hold: %s\n", file, line, condition,
               why);
  std::abort();
}

}  // namespace muster::detail
