#include "muster/comm/driver/ucx/address.h"

#include <gtest/gtest.h>

namespace muster::comm {
namespace {

TEST(UcxAddress, CanBeWrittenAndRead) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  for (const bool host_only : {true, false}) {
    const std::string text =
        format_ucx_address({.host_only = host_only, .whole = bytes, .network = "n"});
    EXPECT_TRUE(text.starts_with(host_only ? "ucx://local/" : "ucx://net/")) << text;
    const auto read = parse_ucx_address(text);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->host_only, host_only);
    EXPECT_EQ(read->whole, bytes);
    EXPECT_EQ(read->network, "n");
  }
}

TEST(UcxAddress, IsNothingElse) {
  for (const char* const text :
       {"", "ucx://", "ucx://net/", "ucx://net//", "ucx://net/AAAA", "ucx://net/AAAA/",
        "ucx://local/AAAA/#", "ucx://wan/AAAA/AAAA", "tcp://127.0.0.1:1", "ucx://net/A/A/A"}) {
    EXPECT_FALSE(parse_ucx_address(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace muster::comm
