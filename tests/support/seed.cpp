#include "tests/support/seed.h"

#include <cstdio>
#include <cstdlib>

namespace muster {

std::uint64_t test_seed() {
  const char* const text = std::getenv("MUSTER_TEST_SEED");
  const std::uint64_t seed = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  std::printf("MUSTER_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace muster
