#include "muster/comm/driver/ucx/settings.h"

#include <map>

#include <gtest/gtest.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

using Texts = std::map<std::string, std::string>;

Result<Texts> plan(const Security& security, const UcxOptions& options = {},
                   const Texts& environment = {}) {
  const auto made = plan_ucx(security, options, [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
  if (!made) return fail(made.error());
  return Texts(made->settings.begin(), made->settings.end());
}

TEST(UcxSettings, KeepToThisHostWithoutASecret) {
  const auto made = plan({});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->at("NET_DEVICES"), "lo");
}

TEST(UcxSettings, RefuseTheNetworkWithoutASecret) {
  for (const char* const devices : {"eth0", "all", "lo,eth0", "mlx5_0:1", "^lo"}) {
    for (const bool by_option : {true, false}) {
      const auto made = by_option ? plan({}, {.transports = {}, .devices = devices})
                                  : plan({}, {}, {{"UCX_NET_DEVICES", devices}});
      ASSERT_FALSE(made.has_value()) << devices;
      EXPECT_TRUE(made.error().is(Errc::refused));
      EXPECT_NE(made.error().message().find("MUSTER_SECRET"), std::string::npos);
      EXPECT_NE(made.error().message().find("insecure"), std::string::npos);
    }
  }
  EXPECT_TRUE(plan({}, {.transports = {}, .devices = "lo"}).has_value());
}

TEST(UcxSettings, LeaveTheDevicesToUcxWithASecretOrWithoutCare) {
  for (const Security& security :
       {Security{.secret = "s", .insecure = false}, Security{.secret = {}, .insecure = true}}) {
    EXPECT_FALSE(plan(security)->contains("NET_DEVICES"));
    EXPECT_EQ(plan(security, {.transports = {}, .devices = "eth1"})->at("NET_DEVICES"), "eth1");
  }
}

TEST(UcxSettings, LetTheOptionGoBeforeTheEnvironmentAndThatBeforeUs) {
  EXPECT_EQ(plan({})->at("TLS"), "^sm");
  EXPECT_FALSE(plan({}, {}, {{"UCX_TLS", "tcp"}})->contains("TLS")) << "UCX reads it by itself";
  EXPECT_EQ(plan({}, {.transports = "posix", .devices = {}}, {{"UCX_TLS", "tcp"}})->at("TLS"),
            "posix");
  EXPECT_EQ(plan({})->at("TCP_CONN_NB"), "y");
  EXPECT_FALSE(plan({}, {}, {{"UCX_TCP_CONN_NB", "n"}})->contains("TCP_CONN_NB"));
}

TEST(UcxSettings, LeaveOutWhatConcernsTransportsThatAreNotUsed) {
  EXPECT_FALSE(plan({})->contains("MM_ERROR_HANDLING"));
  EXPECT_TRUE(plan({}, {}, {{"UCX_TLS", "^sysv,cma"}})->contains("MM_ERROR_HANDLING"));
  EXPECT_FALSE(plan({}, {}, {{"UCX_TLS", "^rc,tcp"}})->contains("TCP_CONN_NB"));
  EXPECT_TRUE(plan({}, {}, {{"UCX_TLS", "shm,tcp"}})->contains("MM_ERROR_HANDLING"));
  EXPECT_FALSE(plan({}, {}, {{"UCX_TLS", "tcp"}})->contains("MM_ERROR_HANDLING"));
  EXPECT_FALSE(plan({}, {.transports = "posix", .devices = {}})->contains("TCP_CONN_NB"));
}

}  // namespace
}  // namespace muster::comm
