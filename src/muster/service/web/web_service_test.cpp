#include "muster/service/web/web_service.h"

#include <cstdlib>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "muster/base/random.h"
#include "muster/net/http/http_client.h"
#include "muster/service/cluster_testing.h"
#include "muster/service/errc.h"
#include "muster/service/token.h"
#include "muster/service/web/session_ticket.h"

namespace muster::service {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

TimePoint soon() { return std::chrono::steady_clock::now() + 30s; }

struct Reply {
  int status = 0;
  std::string text;
  net::HeaderList headers;
  [[nodiscard]] json body() const { return json::parse(text, nullptr, false); }
};

/// A web role before a fake cluster, in a runtime folder of its own.
class WebServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             fmt::format("muster-web-{:016x}", secure_random_u64());
    ::setenv("MUSTER_RUNTIME_DIR", folder.c_str(), 1);
    for (const char* name : {"MUSTER_TOKEN", "MUSTER_SECRET"}) ::unsetenv(name);
  }
  void TearDown() override {
    web.reset();
    std::filesystem::remove_all(folder);
    ::unsetenv("MUSTER_RUNTIME_DIR");
  }

  WebOptions options() {
    WebOptions out;
    out.role.store = cluster.store();
    return out;
  }
  void start(const WebOptions& with) {
    auto started = WebService::start(with);
    ASSERT_TRUE(started.has_value()) << started.error().message();
    web = *std::move(started);
    token = web->token_file().empty() ? with.token : *read_token(web->token_file());
  }
  void start() { start(options()); }

  Reply ask(std::string_view method, const std::string& path, std::string_view body = {},
            std::optional<std::string> shown = {}) {
    const auto client = net::HttpClient::make(web->url(), {.token = shown.value_or(token)});
    if (!client) return {0, client.error().message(), {}};
    const std::array<ByteSpan, 1> spans = {as_bytes(body)};
    const auto reply = client->request(method, path, spans, {}, soon());
    if (!reply) return {0, reply.error().message(), {}};
    return {reply->status, std::string(reply->body.text()), reply->headers};
  }
  std::string open() { return ask("POST", "/api/sessions").body().value("session", ""); }

  std::filesystem::path folder;
  FakeCluster cluster;
  std::string token;
  std::unique_ptr<WebService> web;
};

TEST_F(WebServiceTest, CountsWorkersAsABareNumberForAnybody) {
  start();
  const Reply reply = ask("GET", "/api/worker?action=count", {}, "");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.text, "2");
  EXPECT_EQ(ask("GET", "/api/worker", {}, "").status, 400);
}

TEST_F(WebServiceTest, ShowsAPageThatListsWhatThereIs) {
  start();
  const Reply reply = ask("GET", "/", {}, "");
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.text.find("/api/sessions/{session}"), std::string::npos);
  EXPECT_EQ(ask("GET", "/healthz", {}, "").status, 200);
}

TEST_F(WebServiceTest, NeedsATokenForEverythingElse) {
  start();
  for (const std::string& shown : {std::string(), std::string("wrong"), token + "x"}) {
    const Reply reply = ask("GET", "/api/cluster", {}, shown);
    EXPECT_EQ(reply.status, 401) << shown;
    EXPECT_NE(reply.body().value("error", "").find("MUSTER_TOKEN"), std::string::npos);
    EXPECT_EQ(ask("POST", "/api/sessions", "{}", shown).status, 401);
    EXPECT_EQ(ask("GET", "/metrics", {}, shown).status, 401);
  }
  EXPECT_EQ(ask("GET", "/api/cluster").status, 200);
}

TEST_F(WebServiceTest, RefusesTheNetworkWithoutAToken) {
  WebOptions open_to_all = options();
  open_to_all.role.host = "0.0.0.0";
  const auto refused = WebService::start(open_to_all);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(Errc::refused));
  EXPECT_NE(refused.error().message().find("MUSTER_SECRET"), std::string::npos);
}

TEST_F(WebServiceTest, LetsAnybodyInWhoeverInsists) {
  WebOptions insecure = options();
  insecure.role.host = "0.0.0.0";
  insecure.role.security.insecure = true;
  auto started = WebService::start(insecure);
  ASSERT_TRUE(started.has_value()) << started.error().message();
  const auto client =
      net::HttpClient::make(fmt::format("http://127.0.0.1:{}", (*started)->port()), {});
  EXPECT_EQ(client->get("/api/cluster", soon())->status, 200);
  (void)client->request("POST", "/api/sessions", {}, {}, soon());
  EXPECT_EQ(cluster.last("open").value("trusted", true), false);
}

TEST_F(WebServiceTest, LeavesItsTokenForTheUserOnLoopback) {
  start();
  ASSERT_FALSE(web->token_file().empty());
  EXPECT_EQ(token_for("127.0.0.1", web->port()), token);
  web->stop();
  EXPECT_FALSE(std::filesystem::exists(web->token_file())) << "nobody asked for this port";
}

TEST_F(WebServiceTest, TakesTheTokenOfTheOptionsOrTheEnvironment) {
  WebOptions given = options();
  given.token = "word";
  start(given);
  EXPECT_EQ(ask("GET", "/api/cluster", {}, "word").status, 200);
  EXPECT_EQ(token_for("127.0.0.1", web->port()), "word") << "for clients of the same user";
  web.reset();
  ::setenv("MUSTER_TOKEN", "said", 1);
  start();
  EXPECT_EQ(ask("GET", "/api/cluster", {}, "said").status, 200);
  ::unsetenv("MUSTER_TOKEN");
}

TEST_F(WebServiceTest, WorksUnderAPrefix) {
  WebOptions prefixed = options();
  prefixed.path_prefix = "some/path/";
  start(prefixed);
  EXPECT_TRUE(web->url().ends_with("/some/path")) << web->url();
  EXPECT_EQ(ask("GET", "/api/worker?action=count").text, "2");
  const auto outside =
      net::HttpClient::make(fmt::format("http://127.0.0.1:{}", web->port()), {.token = token});
  EXPECT_EQ(outside->get("/api/worker?action=count", soon())->status, 404);
  WebOptions wrong = options();
  wrong.path_prefix = "/a b";
  EXPECT_FALSE(WebService::start(wrong).has_value());
}

TEST_F(WebServiceTest, OpensSessionsWhoseIdsCannotBeGuessed) {
  start();
  const Reply one = ask("POST", "/api/sessions", R"({"name":"me","nonce":"n1"})");
  ASSERT_EQ(one.status, 200) << one.text;
  const std::string id = one.body().at("session");
  EXPECT_EQ(cluster.last("open").value("trusted", false), true);
  EXPECT_EQ(ask("POST", "/api/sessions", R"({"name":"me","nonce":"n1"})").body().at("session"), id)
      << "asking twice opens one";
  EXPECT_NE(ask("POST", "/api/sessions", R"({"name":"me","nonce":"n2"})").body().at("session"), id);
  EXPECT_EQ(ask("POST", "/api/sessions/" + id + "/alive").status, 200);
  EXPECT_EQ(ask("POST", "/api/sessions/1/alive").status, 404) << "the number is not enough";
  EXPECT_EQ(ask("POST", "/api/sessions/" + id + "0/alive").status, 404);
  const json listed = ask("GET", "/api/sessions").body();
  EXPECT_EQ(listed.at("sessions").at(0).at("name"), "me") << "and nothing else";
  EXPECT_EQ(ask("DELETE", "/api/sessions/" + id).status, 200);
  EXPECT_EQ(ask("POST", "/api/sessions/" + id + "/alive").status, 404);
}

TEST_F(WebServiceTest, TheTokenDoesNotOpenTheSessionsOfOthers) {
  WebOptions given = options();
  given.token = "word";
  start(given);
  const std::string id = open();
  ASSERT_EQ(ask("POST", "/api/sessions/" + id + "/alive").status, 200);
  const auto number =
      engine::SessionId(static_cast<std::uint32_t>(std::stoul(id.substr(0, id.find('.')))));
  for (const std::string& key : {std::string("word"), std::string("session word"), std::string()}) {
    const std::string forged = SessionTickets(key).make(number);
    EXPECT_EQ(ask("POST", "/api/sessions/" + forged + "/alive").status, 404) << key;
    EXPECT_EQ(ask("GET", "/api/sessions/" + forged + "/tensors/u1").status, 404) << key;
    EXPECT_EQ(ask("DELETE", "/api/sessions/" + forged).status, 404) << key;
  }
}

TEST_F(WebServiceTest, SessionsAreSealedByTheSecretWhereThereIsOne) {
  WebOptions given = options();
  given.role.security.secret = "hush";
  start(given);
  const std::string id = open();
  web.reset();
  std::filesystem::remove_all(folder);  // as on another host
  start(given);
  EXPECT_EQ(ask("POST", "/api/sessions/" + id + "/alive").status, 200);
}

TEST_F(WebServiceTest, KeepsSessionsWhenItIsStartedAgain) {
  start();
  WebOptions same = options();
  same.token = "word";
  same.role.port = web->port();
  web.reset();
  start(same);
  const std::string id = open();
  web.reset();
  start(same);
  EXPECT_EQ(ask("POST", "/api/sessions/" + id + "/alive").status, 200);
}

TEST_F(WebServiceTest, PassesChunksUpAndDown) {
  start();
  const std::string base = "/api/sessions/" + open() + "/tensors/";
  const Reply declared = ask("PUT", base + "u1", R"({"dtype":"int64","splits":[[2,1],[3]]})");
  ASSERT_EQ(declared.status, 200) << declared.text;
  EXPECT_EQ(declared.body().at("chunks"), 2);
  std::vector<std::int64_t> items(6);
  std::iota(items.begin(), items.end(), 1);
  const std::string_view bytes = as_text(std::as_bytes(std::span(items)));
  EXPECT_EQ(ask("PUT", base + "u1/chunks/0", bytes).status, 200);
  EXPECT_EQ(ask("PUT", base + "u1/chunks/1", bytes.substr(0, 24)).status, 200);
  const Reply back = ask("GET", base + "u1/chunks/0");
  ASSERT_EQ(back.status, 200) << back.text;
  EXPECT_EQ(back.text, bytes);
  EXPECT_EQ(*net::find_header(back.headers, "Muster-Dtype"), "int64");
  EXPECT_EQ(*net::find_header(back.headers, "Muster-Shape"), "2,3");
  EXPECT_EQ(ask("GET", base + "u1/chunks/1").text, bytes.substr(0, 24));
  EXPECT_EQ(ask("GET", base + "u1").body().at("chunks").size(), 2u);
  EXPECT_FALSE(ask("GET", base + "u1?chunks=0").body().contains("chunks"));
  EXPECT_EQ(ask("DELETE", base + "u1,u2").status, 200);
  EXPECT_EQ(cluster.tensors(), 0u);
  EXPECT_EQ(ask("GET", base + "u1/chunks/0").status, 404);
}

TEST_F(WebServiceTest, SaysWhatIsWrongWithARequest) {
  start();
  const std::string base = "/api/sessions/" + open();
  (void)ask("PUT", base + "/tensors/u1", R"({"dtype":"int64","splits":[[2]]})");
  const std::vector<std::tuple<std::string, std::string, std::string, int>> wrong = {
      {"GET", "/nowhere", "", 404},
      {"PATCH", "/api/cluster", "", 405},
      {"POST", "/api/sessions", "{", 400},
      {"POST", "/api/sessions", R"({"timeout":-3})", 400},
      {"PUT", base + "/tensors/u2", R"({"dtype":"no such","splits":[[2]]})", 400},
      {"PUT", base + "/tensors/a%20b", R"({"dtype":"int64","splits":[[2]]})", 400},
      {"PUT", base + "/tensors/u1/chunks/0", "short", 400},
      {"PUT", base + "/tensors/u1/chunks/7", std::string(16, 'x'), 404},
      {"PUT", base + "/tensors/u9/chunks/0", std::string(16, 'x'), 404},
      {"GET", base + "/tensors/u1/chunks/x", "", 400},
      {"GET", base + "/tensors/u9/chunks/0", "", 404},
      {"POST", base + "/executions", "MGRF", 400},
      {"POST", base + "/executions", "{\"execution\":\"e1\",\"keys\":[\"../k\"]}\nM", 400},
      {"GET", base + "/executions/none", "", 404},
      {"GET", base + "/executions/none?wait=x", "", 400},
      {"GET", base + "/executions/none/tasks?limit=-1", "", 400},
      {"GET", "/api/logs?role=nobody", "", 400},
      {"GET", "/api/logs?worker=nobody", "", 404},
      {"GET", "/api/logs?lines=x", "", 400},
      {"DELETE", base + "/tensors/a,,b", "", 400},
  };
  for (const auto& [method, path, body, status] : wrong) {
    const Reply reply = ask(method, path, body);
    EXPECT_EQ(reply.status, status) << method << " " << path << " " << reply.text;
    EXPECT_EQ(reply.body().contains("error"), true) << reply.text;
    EXPECT_EQ(reply.text.find(token), std::string::npos);
  }
}

TEST_F(WebServiceTest, RefusesWhatIsTooLarge) {
  start();
  const Reply reply = ask("POST", "/api/sessions", std::string((16u << 20) + 1, ' '));
  EXPECT_EQ(reply.status, 413) << reply.text;
}

TEST_F(WebServiceTest, AsksForLogsAndMetricsOfAnyRole) {
  start();
  EXPECT_EQ(ask("GET", "/api/logs?role=scheduler").body().at("lines").at(0),
            "log of the scheduler");
  EXPECT_EQ(ask("GET", "/api/logs?worker=worker-0").body().at("lines").at(0), "log of worker-0");
  EXPECT_TRUE(ask("GET", "/api/logs?role=web&lines=5").body().at("lines").is_array());
  EXPECT_NE(ask("GET", "/metrics").text.find("muster_web_requests_total"), std::string::npos);
  EXPECT_EQ(ask("GET", "/metrics?role=scheduler").text, "scheduler_metric 1\n");
  EXPECT_EQ(ask("GET", "/metrics?worker=worker-1").text, "metric 1\n");
}

TEST_F(WebServiceTest, ListsWhatWorkersSayOfThemselves) {
  start();
  const json listed = ask("GET", "/api/workers").body();
  ASSERT_EQ(listed.at("workers").size(), 2u) << listed;
  EXPECT_EQ(listed.at("workers").at(0).at("python").at("processes"), 1);
}

TEST_F(WebServiceTest, PassesOnHowLongAClientWouldWait) {
  start();
  const std::string base = "/api/sessions/" + open() + "/executions/";
  (void)ask("GET", base + "e1?wait=2.5&seen=7");
  EXPECT_EQ(cluster.last("progress").value("wait", 0.0), 2.5);
  EXPECT_EQ(cluster.last("progress").value("seen", 0), 7);
}

TEST_F(WebServiceTest, LetsADashboardLookAtASessionByItsNumber) {
  start();
  const std::string id = open();
  EXPECT_EQ(ask("GET", "/api/sessions/1/executions/e1/graph").body().at("error"),
            "there is no such execution");
  EXPECT_EQ(cluster.last("graph").value("looks", false), true);
  (void)ask("GET", "/api/sessions/1/executions/e1");
  EXPECT_EQ(cluster.last("progress").value("looks", false), true);
  (void)ask("GET", "/api/sessions/" + id + "/executions/e1");
  EXPECT_EQ(cluster.last("progress").contains("looks"), false) << "that is the client";
  EXPECT_EQ(ask("DELETE", "/api/sessions/1/executions/e1").status, 404);
  EXPECT_EQ(cluster.asked("cancel"), 0);
}

TEST_F(WebServiceTest, FindsAnotherWorkerForAnUpload) {
  start();
  const std::string base = "/api/sessions/" + open() + "/tensors/u1";
  (void)ask("PUT", base, R"({"dtype":"uint8","splits":[[4]]})");
  cluster.lose_worker("worker-0");
  const Reply stored = ask("PUT", base + "/chunks/0", "abcd");
  EXPECT_EQ(stored.status, 200) << stored.text;
  EXPECT_EQ(cluster.held("worker-1"), 1u);
  EXPECT_EQ(ask("GET", base + "/chunks/0").text, "abcd");
}

TEST_F(WebServiceTest, HasAChunkTakenFromTheMemoryOfAClient) {
  start();
  const std::string base = "/api/sessions/" + open() + "/tensors/u1";
  const Reply declared = ask("PUT", base, R"({"dtype":"uint8","splits":[[4]]})");
  EXPECT_EQ(declared.body().at("host"), memory_host());
  const MemoryProof proof;
  const std::string items = "abcd";
  nlohmann::json place = {{"host", memory_host()},
                          {"pid", proof.memory().pid},
                          {"proof", proof.memory().proof},
                          {"proof_at", proof.memory().proof_at},
                          {"address", reinterpret_cast<std::uint64_t>(items.data())}};
  const Reply stored = ask("POST", base + "/chunks/0", place.dump());
  EXPECT_EQ(stored.status, 200) << stored.text;
  EXPECT_EQ(ask("GET", base + "/chunks/0").text, "abcd");
  EXPECT_EQ(ask("POST", base + "/chunks/1", place.dump()).status, 404);
  place["proof"] = proof.memory().proof ^ 1;
  EXPECT_EQ(ask("POST", base + "/chunks/0", place.dump()).status, 409);
  EXPECT_EQ(ask("POST", base + "/chunks/0", "{}").status, 400);
}

TEST_F(WebServiceTest, AsksAgainWhereAChunkIsWhenItsHolderIsGone) {
  start();
  const std::string base = "/api/sessions/" + open() + "/tensors/u1";
  (void)ask("PUT", base, R"({"dtype":"uint8","splits":[[4]]})");
  ASSERT_EQ(ask("PUT", base + "/chunks/0", "abcd").status, 200);
  EXPECT_EQ(ask("GET", base + "/chunks/0").text, "abcd");
  cluster.lose_worker("worker-0");
  // Somebody puts it elsewhere while the client waits.
  std::jthread elsewhere([&] { EXPECT_EQ(ask("PUT", base + "/chunks/0", "abcd").status, 200); });
  EXPECT_EQ(ask("GET", base + "/chunks/0").text, "abcd");
}

TEST_F(WebServiceTest, StreamsWhatHappens) {
  start();
  const auto client = net::HttpClient::make(web->url(), {.token = token});
  auto socket = client->websocket("/api/events", soon());
  ASSERT_TRUE(socket.has_value()) << socket.error().message();
  // The socket is open before the role listens for news, so they are told until one arrives.
  std::optional<net::WebSocketMessage> message;
  for (int i = 0; i < 500 && !message; ++i) {
    cluster.tell("{\"event\":\"task\"}\n{\"event\":\"memory\"}\n");
    const auto received =
        (*socket)->receive(std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
    ASSERT_TRUE(received.has_value()) << received.error().message();
    message = *received;
  }
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->body.text(), "{\"event\":\"task\"}");
  const auto next = (*socket)->receive(soon());
  ASSERT_TRUE(next.has_value() && next->has_value());
  EXPECT_EQ((*next)->body.text(), "{\"event\":\"memory\"}");
}

TEST_F(WebServiceTest, StreamsNothingToStrangers) {
  start();
  const auto client = net::HttpClient::make(web->url(), {});
  EXPECT_FALSE(client->websocket("/api/events", soon()).has_value());
}

TEST_F(WebServiceTest, StopsWhileClientsWait) {
  start();
  const auto client = net::HttpClient::make(web->url(), {.token = token});
  auto socket = client->websocket("/api/events", soon());
  ASSERT_TRUE(socket.has_value());
  web->stop();
  web->stop();
}

}  // namespace
}  // namespace muster::service
