#include "muster/net/redis/redis_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/net/errc.h"

namespace muster::net {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RedisAddress, ReadsUrls) {
  EXPECT_EQ(RedisAddress::parse("redis://localhost"), (RedisAddress{.host = "localhost"}));
  EXPECT_EQ(RedisAddress::parse("redis://10.0.0.1:7000/3"),
            (RedisAddress{.host = "10.0.0.1", .port = 7000, .db = 3}));
  EXPECT_EQ(RedisAddress::parse("redis://localhost/"), (RedisAddress{.host = "localhost"}));
  EXPECT_EQ(RedisAddress::parse("redis://[::1]:7000"), (RedisAddress{.host = "::1", .port = 7000}));
  EXPECT_EQ(RedisAddress::parse("redis://ann:s%40:x@h:1"),
            (RedisAddress{.host = "h", .port = 1, .user = "ann", .password = "s@:x"}));
  EXPECT_EQ(RedisAddress::parse("redis://:secret@h"),
            (RedisAddress{.host = "h", .password = "secret"}));
  EXPECT_EQ(RedisAddress::parse("redis://p@ss@h"), (RedisAddress{.host = "h", .password = "p@ss"}));
}

TEST(RedisAddress, ReadsUnixSockets) {
  EXPECT_EQ(RedisAddress::parse("redis+unix:///run/r.sock"),
            (RedisAddress{.unix_path = "/run/r.sock"}));
  EXPECT_EQ(RedisAddress::parse("unix:///run/r%20s?db=2&password=a%26b&user=u"),
            (RedisAddress{.unix_path = "/run/r s", .user = "u", .password = "a&b", .db = 2}));
  EXPECT_EQ(RedisAddress::parse("unix://:pw@/run/r"),
            (RedisAddress{.unix_path = "/run/r", .password = "pw"}));
}

TEST(RedisAddress, ReadsHostAndPort) {
  EXPECT_EQ(RedisAddress::parse("redis.local:6380"),
            (RedisAddress{.host = "redis.local", .port = 6380}));
}

struct Wrong {
  const char* text;
  const char* why;
};

class WrongRedisAddress : public testing::TestWithParam<Wrong> {};

TEST_P(WrongRedisAddress, IsNamedWithoutThePassword) {
  const auto address = RedisAddress::parse(GetParam().text);
  ASSERT_FALSE(address.has_value()) << GetParam().text;
  EXPECT_TRUE(address.error().is(Errc::invalid_address));
  EXPECT_THAT(address.error().message(), HasSubstr(GetParam().why));
  EXPECT_THAT(address.error().message(), Not(HasSubstr("hush")));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongRedisAddress,
    testing::Values(Wrong{"", "no scheme"}, Wrong{"localhost", "no scheme"},
                    Wrong{"hush@h:1", "no scheme"}, Wrong{"http://h:1", "the scheme"},
                    Wrong{"rediss://:hush@h", "TLS"}, Wrong{"redis://", "the host"},
                    Wrong{"redis://:hush@", "the host"}, Wrong{"redis://:hush@h:0", "the port"},
                    Wrong{"redis://:hush@h:65536", "the port"}, Wrong{"redis://h:", "the port"},
                    Wrong{"redis://u:hush/y@h", "the database"},
                    Wrong{"redis://h/-1", "the database"},
                    Wrong{"redis://h/99999999999", "the database"},
                    Wrong{"redis://:hush%zz@h", "'%'"}, Wrong{"redis://:hush%4@h", "'%'"},
                    Wrong{"redis://h%00", "zero byte"}, Wrong{"redis://[::1", "not closed"},
                    Wrong{"redis://[::1]x", "']'"}, Wrong{"unix://r.sock", "begin with '/'"},
                    Wrong{"unix:///r?pass=hush", "db, user and password"},
                    Wrong{"unix:///r?db=x", "the database"}));

TEST(RedisAddress, DescribesItselfWithoutThePassword) {
  EXPECT_EQ(RedisAddress::parse("redis://ann:hush@h/2")->description(), "redis://h:6379/2");
  EXPECT_EQ(RedisAddress::parse("unix:///r?password=hush")->description(), "redis+unix:///r?db=0");
  EXPECT_EQ(RedisAddress::parse("redis://[::1]")->description(), "redis://[::1]:6379/0");
}

}  // namespace
}  // namespace muster::net
