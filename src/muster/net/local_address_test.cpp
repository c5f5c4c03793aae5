#include "muster/net/local_address.h"

#include <gtest/gtest.h>

namespace muster::net {
namespace {

TEST(LocalAddress, TowardsThisHostIsLoopback) {
  const auto address = local_address_towards("127.0.0.1", 6379);
  ASSERT_TRUE(address.has_value()) << address.error().message();
  EXPECT_EQ(*address, "127.0.0.1");
}

TEST(LocalAddress, SaysWhichHostIsUnknown) {
  const auto address = local_address_towards("no such host", 1);
  ASSERT_FALSE(address.has_value());
  EXPECT_NE(address.error().message().find("no such host"), std::string::npos);
}

TEST(LocalAddress, KnowsLoopback) {
  EXPECT_TRUE(is_loopback("127.0.0.1") && is_loopback("::1") && is_loopback("localhost"));
  EXPECT_FALSE(is_loopback("10.0.0.1"));
}

}  // namespace
}  // namespace muster::net
