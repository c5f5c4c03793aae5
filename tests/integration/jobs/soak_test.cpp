#include <gtest/gtest.h>

#include "tests/integration/jobs/storm.h"
#include "tests/support/seed.h"

namespace muster::test {
namespace {

TEST(JobsSoak, TwoThousandShortJobsWithRandomKills) {
  Storm({.seed = test_seed(), .jobs = 2000, .parallel_level = 16, .kill_components = true}).run();
}

}  // namespace
}  // namespace muster::test
