#include "muster/comm/collective/schedule.h"

#include <gtest/gtest.h>

namespace muster::comm::collective {
namespace {

TEST(Schedule, IsDescribedStepByStep) {
  Schedule schedule;
  schedule.scratch_bytes = 16;
  Round& round = schedule.rounds.emplace_back();
  round.sends.push_back({2, {Space::input, 0, 8}});
  round.receives.push_back({1, {Space::scratch, 8, 8}});
  const Region into = {Space::output, 0, 4};
  const Region from = {Space::scratch, 8, 4};
  round.meanwhile.push_back({Local::Kind::copy, into, {Space::input, 0, 4}});
  round.then.push_back({Local::Kind::copy, into, from, {}, 1, {3, 8, 4}});
  round.then.push_back({Local::Kind::reduce, into, into, from});
  round.then.push_back({Local::Kind::divide, into, {}, {}, 3});
  EXPECT_EQ(describe(schedule),
            "scratch 16 bytes\n"
            "0: input[0+8] → rank 2\n"
            "0: scratch[8+8] ← rank 1\n"
            "0: meanwhile output[0+4] = input[0+4]\n"
            "0: then output[0+4] = scratch[8+4], 3 rows that lie 8 and 4 bytes apart\n"
            "0: then output[0+4] = output[0+4] ∘ scratch[8+4]\n"
            "0: then output[0+4] /= 3\n");
}

}  // namespace
}  // namespace muster::comm::collective
