#include "muster/net/http/metrics_server.h"

#include <gtest/gtest.h>

#include "muster/net/http/http_client.h"
#include "tests/support/raw_client.h"

namespace muster::net {
namespace {

using test::soon;

TEST(MetricsServer, AnswersMetricsAndHealth) {
  int asked = 0;
  const auto server =
      MetricsServer::start("127.0.0.1", 0, [&] { return "asked " + std::to_string(++asked); });
  ASSERT_TRUE(server.has_value()) << server.error().message();
  const auto client =
      HttpClient::make("http://127.0.0.1:" + std::to_string((*server)->port())).value();
  EXPECT_EQ(client.get("/healthz", soon())->status, 200);
  EXPECT_EQ(client.get("/metrics", soon())->body.text(), "asked 1");
  const auto again = client.get("/metrics", soon());
  EXPECT_EQ(again->body.text(), "asked 2");
  EXPECT_TRUE(again->header("Content-Type")->starts_with("text/plain; version=0.0.4"));
  EXPECT_EQ(client.get("/other", soon())->status, 404);
  EXPECT_EQ(client.request("POST", "/metrics", {}, {}, soon())->status, 405);
  (*server)->stop();
}

}  // namespace
}  // namespace muster::net
