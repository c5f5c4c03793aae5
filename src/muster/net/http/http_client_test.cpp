#include "muster/net/http/http_client.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "muster/net/errc.h"
#include "muster/net/http/http_server.h"
#include "muster/net/stream_socket.h"
#include "tests/support/certificate.h"
#include "tests/support/http_server.h"
#include "tests/support/raw_client.h"

namespace muster::net {
namespace {

using test::serve;
using test::soon;

std::string url_of(std::uint16_t port, std::string_view rest = "") {
  return "http://127.0.0.1:" + std::to_string(port) + std::string(rest);
}

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>(i * 7 + i / 251);
  return result;
}

// Takes connections one after the other; on each it waits for a head and sends what the script
// has for it, then closes.
class ScriptedServer {
 public:
  // One list of answers per connection.
  explicit ScriptedServer(std::vector<std::vector<std::string>> script)
      : listener_(listen_tcp("127.0.0.1", 0).value()),
        thread_([this, script = std::move(script)] { run(script); }) {}
  ~ScriptedServer() { thread_.join(); }

  [[nodiscard]] std::uint16_t port() const { return local_port(listener_); }

 private:
  void run(const std::vector<std::vector<std::string>>& script) {
    for (const auto& answers : script) {
      if (!wait_ready(listener_.get(), POLLIN, soon())) return;
      SocketStream stream(
          FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK)));
      for (const std::string& answer : answers) {
        std::string text;
        std::array<std::byte, 4096> piece;
        while (!text.ends_with("\r\n\r\n")) {
          const auto got = stream.read_some(piece, soon());
          if (!got || *got == 0) break;
          text += as_text(ByteSpan(piece).first(*got));
        }
        const std::array parts{as_bytes(answer)};
        (void)stream.write_all(parts, {soon(), Duration::max()});
      }
    }
  }

  FileDescriptor listener_;
  std::thread thread_;
};

TEST(HttpClient, AsksWithPrefixTokenHeadersAndBody) {
  const auto server = serve([](HttpExchange& exchange) {
    const HttpRequest& request = exchange.request();
    const auto body = exchange.whole_body(100);
    (void)exchange.answer(201, "text/plain",
                          request.method + ' ' + request.path + ' ' + *request.parameter("x") +
                              ' ' + *request.header("Authorization") + ' ' +
                              *request.header("X-Mark") + ' ' + std::string(body->text()),
                          {{"X-Back", "yes"}});
  });
  HttpClientOptions options;
  options.token = "secret";
  const auto client = HttpClient::make(url_of(server->port(), "/pre/fix/"), options);
  ASSERT_TRUE(client.has_value());
  const std::array parts{as_bytes("first "), ByteSpan(), as_bytes("second")};
  const auto reply = client->request("PUT", "/a%20b?x=1", parts, {{"X-Mark", "m"}}, soon());
  ASSERT_TRUE(reply.has_value()) << reply.error().message();
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(*reply->header("x-back"), "yes");
  EXPECT_EQ(reply->body.text(), "PUT /pre/fix/a b 1 Bearer secret m first second");
}

TEST(HttpClient, KeepsItsConnection) {
  std::atomic<int> asked = 0;
  const auto server = serve([&](HttpExchange& exchange) {
    ++asked;
    (void)exchange.answer(200, "", exchange.request().peer);
  });
  const auto client = HttpClient::make(url_of(server->port())).value();
  const std::string first(client.get("/", soon())->body.text());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.get("/", soon())->body.text(), first);
  EXPECT_EQ(asked, 6);
}

TEST(HttpClient, AsksFromManyThreadsAtOnce) {
  const auto server = serve([](HttpExchange& exchange) {
    (void)exchange.answer(200, "", exchange.request().query_text);
  });
  const auto client = HttpClient::make(url_of(server->port())).value();
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string text = std::to_string(t) + '-' + std::to_string(i);
        const auto reply = client.get("/?" + text, soon());
        if (!reply || reply->body.text() != text) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(HttpClient, MovesLargeBodiesBothWays) {
  const auto bytes = pattern((5u << 20) + 3);
  const auto server = serve([&](HttpExchange& exchange) {
    const auto body = exchange.whole_body(bytes.size());
    const bool same = body && std::ranges::equal(body->bytes(), bytes);
    (void)exchange.begin(same ? 200 : 500, "",
                         exchange.request().path == "/chunked"
                             ? std::optional<std::uint64_t>()
                             : std::optional<std::uint64_t>(bytes.size()));
    for (ByteSpan rest = bytes; !rest.empty();) {
      const ByteSpan part = rest.first(std::min<std::size_t>(rest.size(), 100'001));
      (void)exchange.write(part);
      rest = rest.subspan(part.size());
    }
    (void)exchange.end();
  });
  const auto client = HttpClient::make(url_of(server->port())).value();
  const std::array parts{ByteSpan(bytes).first(1000), ByteSpan(bytes).subspan(1000)};
  for (const char* path : {"/length", "/chunked"}) {
    const auto reply = client.request("POST", path, parts, {}, soon());
    ASSERT_TRUE(reply.has_value()) << reply.error().message();
    EXPECT_EQ(reply->status, 200);
    EXPECT_TRUE(std::ranges::equal(reply->body.bytes(), bytes)) << path;

    std::vector<std::byte> place(bytes.size() + 10);
    const auto into = client.request_into(
        "POST", path, parts, {}, [&](const HttpHead&) { return std::span(place); }, soon());
    ASSERT_TRUE(into.has_value()) << into.error().message();
    EXPECT_EQ(into->length, bytes.size());
    EXPECT_TRUE(into->body.empty());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), place.begin())) << path;

    const auto little = client.request_into(
        "POST", path, parts, {}, [&](const HttpHead&) { return std::span(place).first(100); },
        soon());
    ASSERT_FALSE(little.has_value());
    EXPECT_TRUE(little.error().is(Errc::too_large)) << little.error().message();
  }
}

TEST(HttpClient, GivesErrorAnswersWholeWhereABodyWasToGoElsewhere) {
  const auto server = serve(
      [](HttpExchange& exchange) { (void)exchange.answer(404, "text/plain", "no such chunk"); });
  const auto client = HttpClient::make(url_of(server->port())).value();
  const auto reply = client.request_into(
      "GET", "/x", {}, {}, [](const HttpHead&) { return std::span<std::byte>(); }, soon());
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, 404);
  EXPECT_EQ(reply->body.text(), "no such chunk");
}

TEST(HttpClient, AsksAgainWhenTheServerClosedAnIdleConnection) {
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes";
  // The first connection closes on the second request without a word; an empty answer is that.
  ScriptedServer server({{answer, ""}, {answer}});
  const auto client = HttpClient::make(url_of(server.port())).value();
  EXPECT_EQ(client.get("/", soon())->body.text(), "yes");
  const auto again = client.get("/", soon());
  ASSERT_TRUE(again.has_value()) << again.error().message();
  EXPECT_EQ(again->body.text(), "yes");
}

TEST(HttpClient, DoesNotAskAgainWhenSomethingOfTheAnswerCame) {
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes";
  ScriptedServer server({{answer, "HTTP/1.1 200"}});
  const auto client = HttpClient::make(url_of(server.port())).value();
  EXPECT_TRUE(client.get("/", soon()).has_value());
  const auto again = client.get("/", soon());
  ASSERT_FALSE(again.has_value());
  EXPECT_TRUE(again.error().is(Errc::unreachable)) << again.error().message();
}

TEST(HttpClient, DoesNotAskAgainOnAFreshConnection) {
  ScriptedServer server({{""}});
  const auto client = HttpClient::make(url_of(server.port())).value();
  const auto reply = client.get("/x?secret=1", soon());
  ASSERT_FALSE(reply.has_value());
  EXPECT_TRUE(reply.error().is(Errc::unreachable));
  EXPECT_TRUE(reply.error().message().starts_with("GET " + url_of(server.port()) + "/x: "))
      << reply.error().message();
}

TEST(HttpClient, ReadsOtherServersAnswers) {
  ScriptedServer server({
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nuntil the end"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
      {"SSH-2.0-OpenSSH\r\n\r\n"},
      {"HTTP/1.1 204 No Content\r\n\r\n"},
  });
  const auto client = HttpClient::make(url_of(server.port())).value();
  EXPECT_EQ(client.get("/", soon())->body.text(), "until the end");
  EXPECT_TRUE(client.get("/", soon()).error().is(Errc::unreachable));
  EXPECT_TRUE(client.get("/", soon()).error().is(Errc::protocol));
  EXPECT_TRUE(client.get("/", soon()).error().is(Errc::protocol));
  EXPECT_EQ(client.get("/", soon())->status, 204);
}

TEST(HttpClient, ReadsTheAnswerOfAServerThatDoesNotReadTheBody) {
  const auto server =
      serve([](HttpExchange& exchange) { EXPECT_FALSE(exchange.whole_body(100).has_value()); });
  const auto client = HttpClient::make(url_of(server->port())).value();
  const auto bytes = pattern(20u << 20);
  const std::array parts{ByteSpan(bytes)};
  const auto reply = client.request("POST", "/", parts, {}, soon());
  ASSERT_TRUE(reply.has_value()) << reply.error().message();
  EXPECT_EQ(reply->status, 413);
}

TEST(HttpClient, GivesUpAtTheDeadline) {
  const auto server = serve([](HttpExchange& exchange) {
    while (!exchange.stopping()) std::this_thread::yield();
  });
  const auto client = HttpClient::make(url_of(server->port())).value();
  const auto reply = client.get("/", SteadyClock().now() + std::chrono::milliseconds(50));
  ASSERT_FALSE(reply.has_value());
  EXPECT_TRUE(reply.error().is(Errc::timeout)) << reply.error().message();
}

TEST(HttpClient, GivesUpOnABodyThatStopsComing) {
  const auto server = serve([](HttpExchange& exchange) {
    (void)exchange.begin(200, "", 10);
    (void)exchange.write(as_bytes("half"));
    while (!exchange.stopping()) std::this_thread::yield();
  });
  HttpClientOptions options;
  options.step = std::chrono::milliseconds(50);
  const auto reply = HttpClient::make(url_of(server->port()), options)->get("/", soon());
  ASSERT_FALSE(reply.has_value());
  EXPECT_TRUE(reply.error().is(Errc::timeout)) << reply.error().message();
}

TEST(HttpClient, SaysWhereItCannotConnect) {
  std::uint16_t port = 0;
  {
    const auto taken = listen_tcp("127.0.0.1", 0).value();
    port = local_port(taken);
  }
  const auto reply = HttpClient::make(url_of(port)).value().get("/", soon());
  ASSERT_FALSE(reply.has_value());
  EXPECT_TRUE(reply.error().is(Errc::unreachable));
  EXPECT_NE(reply.error().message().find(url_of(port)), std::string::npos);
}

TEST(HttpClient, RefusesWhatWouldBreakTheRequest) {
  const auto client = HttpClient::make("http://127.0.0.1:1").value();
  for (const char* target : {"", "x", "/a b", "/a\r\nX: y", "/a#b", "/\xC3\xA4"})
    EXPECT_TRUE(client.get(target, soon()).error().is(Errc::invalid_address)) << target;
  EXPECT_THROW((void)client.request("GET", "/", {}, {{"X", "a\nb"}}, soon()),
               std::invalid_argument);
  HttpClientOptions options;
  options.token = "a\r\nb";
  EXPECT_FALSE(HttpClient::make("http://127.0.0.1:1", options).has_value());
  options = {};
  options.tls_ca = "/nonexistent/ca";
  const auto secure = HttpClient::make("https://127.0.0.1:1", options);
  ASSERT_FALSE(secure.has_value());
  EXPECT_NE(secure.error().message().find("/nonexistent/ca"), std::string::npos);
}

class HttpClientWithTls : public ::testing::Test {
 protected:
  std::unique_ptr<HttpServer> start(const test::Certificate& certificate) {
    HttpServerOptions options;
    options.tls = certificate.files();
    return serve(
        [](HttpExchange& exchange) {
          const auto body = exchange.whole_body(100u << 20);
          (void)exchange.answer(200, "", body->bytes());
        },
        options);
  }
  Result<HttpReply> ask(const HttpServer& server, const std::string& host,
                        const std::string& ca_file, ByteSpan body = {}) {
    HttpClientOptions options;
    options.tls_ca = ca_file;
    const auto client =
        HttpClient::make("https://" + host + ":" + std::to_string(server.port()), options);
    const std::array parts{body};
    return client->request("POST", "/", parts, {}, soon());
  }
};

TEST_F(HttpClientWithTls, TalksToAServerThatItTrusts) {
  const test::Certificate certificate("DNS:localhost,IP:127.0.0.1");
  const auto server = start(certificate);
  const auto bytes = pattern((3u << 20) + 1);
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const auto reply = ask(*server, host, certificate.files().certificate, bytes);
    ASSERT_TRUE(reply.has_value()) << reply.error().message();
    EXPECT_TRUE(std::ranges::equal(reply->body.bytes(), bytes));
  }
}

TEST_F(HttpClientWithTls, KeepsItsConnection) {
  const test::Certificate certificate("IP:127.0.0.1");
  HttpServerOptions options;
  options.tls = certificate.files();
  const auto server =
      serve([](HttpExchange& exchange) { (void)exchange.answer(200, "", exchange.request().peer); },
            options);
  HttpClientOptions trusting;
  trusting.tls_ca = certificate.files().certificate;
  const auto client =
      HttpClient::make("https://127.0.0.1:" + std::to_string(server->port()), trusting).value();
  const std::string first(client.get("/", soon())->body.text());
  EXPECT_EQ(client.get("/", soon())->body.text(), first);
}

TEST_F(HttpClientWithTls, RefusesAServerWithAnotherName) {
  const test::Certificate certificate("DNS:elsewhere.example");
  const auto server = start(certificate);
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const auto reply = ask(*server, host, certificate.files().certificate);
    ASSERT_FALSE(reply.has_value());
    EXPECT_TRUE(reply.error().is(Errc::auth)) << reply.error().message();
    EXPECT_NE(reply.error().message().find("mismatch"), std::string::npos)
        << reply.error().message();
  }
}

TEST_F(HttpClientWithTls, RefusesAServerThatNobodyVouchesFor) {
  const test::Certificate certificate("IP:127.0.0.1");
  const test::Certificate other("IP:127.0.0.1");
  const auto server = start(certificate);
  EXPECT_TRUE(ask(*server, "127.0.0.1", other.files().certificate).error().is(Errc::auth));
  EXPECT_TRUE(ask(*server, "127.0.0.1", "").error().is(Errc::auth)) << "the system's";
}

TEST_F(HttpClientWithTls, ServersSurvivePlainClientsAndStop) {
  const test::Certificate certificate("IP:127.0.0.1");
  const auto server = start(certificate);
  test::RawClient plain(server->port());
  plain.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  (void)plain.read_all();
  test::RawClient silent(server->port());
  EXPECT_EQ(ask(*server, "127.0.0.1", certificate.files().certificate)->status, 200);
  server->stop();
}

TEST_F(HttpClientWithTls, PlainServersAreNoTlsServers) {
  const auto server = serve([](HttpExchange&) {});
  const auto reply = ask(*server, "127.0.0.1", "");
  ASSERT_FALSE(reply.has_value());
  EXPECT_NE(reply.error().message().find("TLS"), std::string::npos) << reply.error().message();
}

}  // namespace
}  // namespace muster::net
