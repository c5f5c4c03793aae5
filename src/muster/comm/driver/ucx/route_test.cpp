#include "muster/comm/driver/ucx/route.h"

#include <gtest/gtest.h>

namespace muster::comm {
namespace {

TEST(UcxRoute, NamesEachTransportOnce) {
  EXPECT_EQ(ucx_route("#\n"
                      "# UCP endpoint \n"
                      "#               peer: <no debug data>\n"
                      "#                 lane[0]:  2:posix/memory.0 md[2]  -> md[2]/posix am\n"
                      "#                 lane[1]:  0:tcp/lo.1 md[1]  -> md[1]/tcp keepalive\n"
                      "#                 lane[2]:  0:tcp/eth0.1 md[1]  -> md[1]/tcp rma_bw#0\n"
                      "#                tag_send: 0..<egr/short>..192..<egr/bcopy>..8192\n"),
            "posix+tcp");
}

TEST(UcxRoute, IsEmptyForAnythingElse) {
  EXPECT_EQ(ucx_route(""), "");
  EXPECT_EQ(ucx_route("lane["), "");
  EXPECT_EQ(ucx_route("lane[0] wireup / no colon"), "");
}

}  // namespace
}  // namespace muster::comm
