// A build without libucx.

#include <gtest/gtest.h>

#include "muster/comm/driver/registry.h"
#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

TEST(NoUcx, SaysThatItIsUnavailableAndWhy) {
  const Entry self = local_entry("x", "t");
  const std::string group = "g";
  const auto bell = *Doorbell::create();
  const SteadyClock clock;
  const DriverContext context{self, group, *bell, clock, {}, {}, std::chrono::seconds(3)};
  const auto drivers = make_drivers("ucx", false, context, {});
  ASSERT_FALSE(drivers.has_value());
  EXPECT_TRUE(drivers.error().is(Errc::driver_type));
  EXPECT_NE(drivers.error().message().find("unavailable, because"), std::string::npos);
  EXPECT_NE(drivers.error().message().find("libucx-dev"), std::string::npos);
}

TEST(NoUcx, IsNotMissedByAuto) {
  const Entry self = local_entry("x", "t");
  const std::string group = "g";
  const auto bell = *Doorbell::create();
  const SteadyClock clock;
  const DriverContext context{self, group, *bell, clock, {}, {}, std::chrono::seconds(3)};
  const auto drivers = make_drivers("auto", false, context, {});
  ASSERT_TRUE(drivers.has_value()) << drivers.error().message();
  for (const auto& driver : *drivers) EXPECT_NE(driver->name(), "ucx");
}

}  // namespace
}  // namespace muster::comm
