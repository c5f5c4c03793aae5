#include "muster/net/http/http_url.h"

#include <gtest/gtest.h>

#include "muster/net/errc.h"

namespace muster::net {
namespace {

TEST(HttpUrl, IsTakenApart) {
  const auto plain = parse_http_url("http://host:8080/a/b/");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->host, "host");
  EXPECT_EQ(plain->port, 8080);
  EXPECT_EQ(plain->prefix, "/a/b");
  EXPECT_FALSE(plain->tls);
  EXPECT_EQ(plain->text(), "http://host:8080/a/b");

  const auto secure = parse_http_url("https://[::1]");
  ASSERT_TRUE(secure.has_value());
  EXPECT_EQ(secure->host, "::1");
  EXPECT_EQ(secure->port, 443);
  EXPECT_EQ(secure->prefix, "");
  EXPECT_EQ(secure->authority(), "[::1]");
  EXPECT_EQ(parse_http_url("https://[::1]:4/")->authority(), "[::1]:4");
}

TEST(HttpUrl, IsRefusedWithAReason) {
  for (const char* text :
       {"", "host:80", "ftp://host", "http://", "http://:80", "http://host:", "http://host:0",
        "http://host:65536", "http://host:8x", "http://[::1", "http://[::1]80", "http://host/a?b",
        "http://host/#a", "http://ho st/", "http://user:secret@host/"}) {
    const auto url = parse_http_url(text);
    ASSERT_FALSE(url.has_value()) << text;
    EXPECT_TRUE(url.error().is(Errc::invalid_address));
    EXPECT_EQ(url.error().message().find("secret"), std::string::npos);
  }
}

TEST(HttpUrl, IsShownWithoutWhatCouldBeASecret) {
  EXPECT_EQ(without_secrets("/api/sessions/12-0123456789abcdef0123456789/tensors"),
            "/api/sessions/12-…/tensors");
  EXPECT_EQ(without_secrets("/api/worker?action=count"), "/api/worker?action=count");
  EXPECT_EQ(without_secrets(""), "");
}

}  // namespace
}  // namespace muster::net
