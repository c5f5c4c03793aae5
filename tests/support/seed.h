#pragma once

#include <cstdint>

namespace muster {

/// The seed of this test run: MUSTER_TEST_SEED, else a fixed one. Printed, so that a failure can be
/// replayed.
[[nodiscard]] std::uint64_t test_seed();

}  // namespace muster
