#include "muster/net/http/http_server.h"

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "muster/base/log.h"
#include "muster/net/errc.h"
#include "tests/support/http_server.h"
#include "tests/support/no_descriptors.h"
#include "tests/support/raw_client.h"

namespace muster::net {
namespace {

using std::chrono::milliseconds;
using test::RawClient;
using test::serve;
using test::soon;

// Answers with what was asked: "METHOD path query body".
void echo(HttpExchange& exchange) {
  const auto body = exchange.whole_body(1000);
  if (!body) return;
  const HttpRequest& request = exchange.request();
  const std::string text = request.method + ' ' + request.path + ' ' + request.query_text + ' ' +
                           std::string(body->text());
  (void)exchange.answer(200, "text/plain", text);
}

// What the server answers to bytes, up to the end of the connection.
std::string answer_to(const HttpServer& server, std::string_view bytes) {
  RawClient client(server.port());
  client.send(bytes);
  return client.read_all();
}

int status_of(std::string_view answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::stoi(std::string(answer.substr(9, 3))) : 0;
}

TEST(HttpServer, AnswersOneRequestAfterTheOtherOnOneConnection) {
  const auto server = serve(echo);
  RawClient client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.send("POST /a%20b?c=d HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody");
    const std::string answer = client.read_until("POST /a b c=d body");
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_NE(answer.find("Content-Length: 18\r\n"), std::string::npos);
    EXPECT_EQ(answer.find("Connection: close"), std::string::npos);
  }
  EXPECT_EQ(server->connections(), 1u);
}

TEST(HttpServer, AnswersRequestsThatCameTogetherInTheirOrder) {
  const auto server = serve(echo);
  const std::string answers = answer_to(
      *server,
      "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nPOST /2 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\nConnection: "
      "close\r\n\r\n");
  const auto first = answers.find("GET /1");
  const auto second = answers.find("POST /2  abc");
  const auto third = answers.find("GET /3");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos);
  EXPECT_NE(answers.find("Connection: close"), std::string::npos);
}

TEST(HttpServer, SaysContinueToAClientThatWaitsForIt) {
  const auto server = serve(echo);
  RawClient client(server->port());
  client.send(
      "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: "
      "close\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  EXPECT_NE(client.read_all().find("PUT /  body"), std::string::npos);
}

TEST(HttpServer, DoesNotSayContinueToAClientThatItRefuses) {
  const auto server =
      serve([](HttpExchange& exchange) { (void)exchange.answer(403, "text/plain", "no"); });
  const std::string answer = answer_to(
      *server, "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(status_of(answer), 403);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
}

TEST(HttpServer, SendsAnAnswerInChunks) {
  const auto server = serve([](HttpExchange& exchange) {
    (void)exchange.begin(200, "text/plain", {}, {{"X-Mark", "yes"}});
    (void)exchange.write(as_bytes("first "));
    (void)exchange.write({});
    (void)exchange.write(as_bytes("second"));
    (void)exchange.end();
  });
  const std::string chunked =
      answer_to(*server, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(chunked.find("X-Mark: yes\r\n"), std::string::npos);
  EXPECT_NE(chunked.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_TRUE(chunked.ends_with("\r\n\r\n6\r\nfirst \r\n6\r\nsecond\r\n0\r\n\r\n")) << chunked;

  const std::string old = answer_to(*server, "GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.find("Transfer-Encoding"), std::string::npos);
  EXPECT_TRUE(old.ends_with("\r\n\r\nfirst second")) << old;
}

TEST(HttpServer, SendsNoBodyToHead) {
  const auto server = serve([](HttpExchange& exchange) {
    if (exchange.request().path == "/whole") {
      (void)exchange.answer(200, "text/plain", "text");
      return;
    }
    (void)exchange.begin(200, "text/plain", 4);
    (void)exchange.write(as_bytes("text"));
    (void)exchange.end();
  });
  for (const std::string path : {"/whole", "/pieces"}) {
    const std::string answer =
        answer_to(*server, "HEAD " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_NE(answer.find("Content-Length: 4\r\n"), std::string::npos);
    EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
  }
}

TEST(HttpServer, CutsAnAnswerThatIsShorterThanAnnounced) {
  const auto server = serve([](HttpExchange& exchange) {
    (void)exchange.begin(200, "text/plain", 100);
    (void)exchange.write(as_bytes("less"));
  });
  const std::string answer = answer_to(*server, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("\r\n\r\nless")) << answer;
}

TEST(HttpServer, AnswersMalformedRequestsAndGoesOn) {
  HttpServerOptions options;
  options.most_header = 1000;
  const auto server = serve(echo, options);
  using namespace std::string_literals;
  const std::vector<std::pair<std::string, int>> cases{
      {"garbage\r\n\r\n", 400},
      {"\x16\x03\x01\x02"s, 400},
      {"\0\0\0\0"s, 400},
      {"GET / HTTP/1.1\n\n", 400},
      {"GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505},
      {"GET /../etc/passwd HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(2000, 'x') + "\r\n\r\n", 431},
      {"GET /" + std::string(5000, 'x'), 431},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
       400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n\r\n" + std::string(5000, 'x'), 413},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
  };
  for (const auto& [bytes, status] : cases) {
    const std::string answer = answer_to(*server, bytes);
    EXPECT_EQ(status_of(answer), status) << bytes << "\n" << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  }
  const std::string good = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(status_of(answer_to(*server, good)), 200);
}

TEST(HttpServer, AnswersTheGoodRequestBeforeGarbage) {
  const auto server = serve(echo);
  const std::string answers =
      answer_to(*server, "GET /good HTTP/1.1\r\nHost: h\r\n\r\n\x01\x02\x03\r\n\r\n");
  EXPECT_EQ(status_of(answers), 200);
  EXPECT_NE(answers.find("HTTP/1.1 400 "), std::string::npos);
}

TEST(HttpServer, SurvivesRequestsThatAreCutAnywhere) {
  const auto server = serve(echo);
  const std::string whole =
      "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    RawClient client(server->port());
    client.send(std::string_view(whole).substr(0, size));
    client.end_writing();
    const int status = status_of(client.read_all());
    EXPECT_TRUE(status == 0 || status == 400) << size << ": " << status;
  }
}

TEST(HttpServer, DoesNotWaitForeverForARequest) {
  HttpServerOptions options;
  options.step = milliseconds(50);
  options.idle = milliseconds(50);
  const auto server = serve(echo, options);
  EXPECT_EQ(answer_to(*server, ""), "") << "idle";
  EXPECT_EQ(status_of(answer_to(*server, "GET / HT")), 408);
  EXPECT_EQ(
      status_of(answer_to(*server, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf")),
      408);
}

TEST(HttpServer, GivesUpOnAClientThatReadsNothing) {
  HttpServerOptions options;
  options.step = milliseconds(100);
  std::promise<Result<void>> written;
  const auto server = serve(
      [&](HttpExchange& exchange) {
        const std::vector<std::byte> much(1u << 20);
        (void)exchange.begin(200, "", {});
        Result<void> sent;
        for (int i = 0; i < 1000 && sent; ++i) sent = exchange.write(much);
        written.set_value(sent);
      },
      options);
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto sent = written.get_future().get();
  ASSERT_FALSE(sent.has_value());
}

TEST(HttpServer, SurvivesAClientThatLeavesInsideAnAnswer) {
  std::promise<Result<void>> written;
  const auto server = serve([&](HttpExchange& exchange) {
    const std::vector<std::byte> much(1u << 20);
    (void)exchange.begin(200, "", {});
    Result<void> sent;
    for (int i = 0; i < 1000 && sent; ++i) sent = exchange.write(much);
    written.set_value(sent);
  });
  {
    RawClient client(server->port());
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(status_of(client.read_until("\r\n")), 200);
  }
  const auto sent = written.get_future().get();
  ASSERT_FALSE(sent.has_value());
  EXPECT_TRUE(sent.error().is(Errc::unreachable));
}

TEST(HttpServer, AcceptsAgainWhenThereAreDescriptorsAgain) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "UBSan looks at objects through a pipe, and takes its absence for a bad object";
#endif
  std::promise<void> failed;
  std::atomic_flag told;
  set_log_sink([&](LogLevel, std::string_view, std::string_view text) {
    // A server that waits long enough tries, and says so, again.
    if (text.starts_with("accept a connection") && !told.test_and_set()) failed.set_value();
  });
  const auto server = serve(echo);
  const int client_fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SocketStream client{FileDescriptor(client_fd)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  {
    const test::NoDescriptors none;
    ASSERT_EQ(::connect(client_fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(failed.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  }
  set_log_sink({});
  const std::array request{as_bytes("GET / HTTP/1.0\r\n\r\n")};
  ASSERT_TRUE(client.write_all(request, {soon(), Duration::max()}));
  std::array<std::byte, 12> answer;
  ASSERT_TRUE(client.read_some(answer, soon()));
  EXPECT_EQ(as_text(answer), "HTTP/1.1 200");
}

TEST(HttpServer, AnswersWhatAHandlerThrowsOrForgets) {
  const auto server = serve([](HttpExchange& exchange) {
    if (exchange.request().path == "/throw") throw std::runtime_error("the disk is full");
    if (exchange.request().path == "/odd") throw 42;
    if (exchange.request().path == "/split")
      (void)exchange.answer(200, "text/plain", "", {{"X", "a\r\nY: b"}});
    if (exchange.request().path == "/twice") {
      (void)exchange.answer(200, "text/plain", "once");
      (void)exchange.answer(200, "text/plain", "twice");
    }
  });
  const auto ask = [&](const std::string& path) {
    return answer_to(*server, "GET " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  };
  EXPECT_EQ(status_of(ask("/throw")), 500);
  EXPECT_TRUE(ask("/throw").ends_with("\r\n\r\nthe disk is full\n"));
  EXPECT_EQ(status_of(ask("/odd")), 500);
  EXPECT_EQ(status_of(ask("/split")), 500);
  EXPECT_EQ(status_of(ask("/forgotten")), 500);
  EXPECT_TRUE(ask("/twice").ends_with("once"));
}

TEST(HttpServer, RefusesMoreConnectionsThanItMayHave) {
  HttpServerOptions options;
  options.most_connections = 2;
  const auto server = serve(echo, options);
  const std::string request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  RawClient first(server->port());
  RawClient second(server->port());
  first.send(request);
  second.send(request);
  EXPECT_EQ(status_of(first.read_until("GET /  ")), 200);
  EXPECT_EQ(status_of(second.read_until("GET /  ")), 200);
  EXPECT_EQ(status_of(answer_to(*server, request)), 503);
  first.end_writing();
  EXPECT_EQ(first.read_all(), "");
  const TimePoint deadline = soon();
  while (server->connections() > 1 && SteadyClock().now() < deadline) std::this_thread::yield();
  RawClient third(server->port());
  third.send(request);
  EXPECT_EQ(status_of(third.read_until("GET /  ")), 200);
}

TEST(HttpServer, StopsWithOpenConnections) {
  std::promise<void> inside;
  const auto server = serve([&](HttpExchange& exchange) {
    if (exchange.request().path != "/wait") return echo(exchange);
    inside.set_value();
    std::array<std::byte, 10> part;
    const auto got = exchange.read_body(part);
    EXPECT_FALSE(got.has_value());
    EXPECT_TRUE(exchange.stopping());
  });
  RawClient idle(server->port());
  idle.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(status_of(idle.read_until("GET /  ")), 200);
  RawClient silent(server->port());
  RawClient half(server->port());
  half.send("GET / HT");
  RawClient busy(server->port());
  busy.send("POST /wait HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n");
  inside.get_future().wait();
  server->stop();
  server->stop();
  EXPECT_EQ(server->connections(), 0u);
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_FALSE(connect_tcp("127.0.0.1", server->port(), soon()).has_value());
}

TEST(HttpServer, LetsARunningRequestFinishWhenItStops) {
  std::promise<void> inside;
  const auto server = serve([&](HttpExchange& exchange) {
    inside.set_value();
    while (!exchange.stopping()) std::this_thread::yield();
    (void)exchange.answer(200, "text/plain", "finished");
  });
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  inside.get_future().wait();
  server->stop();
  EXPECT_TRUE(client.read_all().ends_with("finished"));
}

TEST(HttpServer, SaysWhyItCannotStart) {
  const auto server = serve(echo);
  HttpServerOptions options;
  options.port = server->port();
  const auto second = HttpServer::start(options, echo);
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message().find(std::to_string(server->port())), std::string::npos);
  options.port = 0;
  options.tls = TlsFiles{"/nonexistent/certificate", "/nonexistent/key"};
  const auto third = HttpServer::start(options, echo);
  ASSERT_FALSE(third.has_value());
  EXPECT_NE(third.error().message().find("/nonexistent/certificate"), std::string::npos);
}

TEST(HttpServer, TellsWhoAsks) {
  const auto server = serve([](HttpExchange& exchange) {
    (void)exchange.answer(200, "text/plain", exchange.request().peer);
  });
  EXPECT_NE(answer_to(*server, "GET / HTTP/1.0\r\n\r\n").find("\r\n\r\n127.0.0.1:"),
            std::string::npos);
}

}  // namespace
}  // namespace muster::net
