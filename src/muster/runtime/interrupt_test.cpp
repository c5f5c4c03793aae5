#include "muster/runtime/interrupt.h"

#include <array>
#include <thread>

#include <gtest/gtest.h>

#include "muster/runtime/poll.h"

namespace muster {
namespace {

using std::chrono::seconds;

TEST(Interrupt, IsKeptForTheNextSleep) {
  auto interrupt = *Interrupt::create();
  interrupt.set();
  interrupt.set();
  EXPECT_TRUE(interrupt.take());
  EXPECT_FALSE(interrupt.take());
}

TEST(Interrupt, EndsASleep) {
  auto interrupt = *Interrupt::create();
  std::jthread other([&] { interrupt.set(); });
  std::array slots{pollfd{interrupt.fd(), POLLIN, 0}};
  EXPECT_TRUE(poll_until(slots, SteadyClock().now() + seconds(10)));
}

TEST(Poll, EndsAtADeadlineThatHasPassed) {
  auto interrupt = *Interrupt::create();
  std::array slots{pollfd{interrupt.fd(), POLLIN, 0}};
  EXPECT_FALSE(poll_until(slots, SteadyClock().now() - seconds(1)));
}

}  // namespace
}  // namespace muster
