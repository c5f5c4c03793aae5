#include "muster/net/http/web_socket.h"

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "muster/net/errc.h"
#include "muster/net/http/http_client.h"
#include "muster/net/http/http_server.h"
#include "muster/net/http/web_socket_frame.h"
#include "tests/support/certificate.h"
#include "tests/support/raw_client.h"

namespace muster::net {
namespace {

using std::chrono::milliseconds;
using test::RawClient;
using test::soon;
using Kind = WebSocketMessage::Kind;

// Sends every message back; keeps why it ended.
class EchoServer {
 public:
  explicit EchoServer(WebSocketOptions options = {}, HttpServerOptions server = {})
      : server_(HttpServer::start(std::move(server), [this, options](HttpExchange& exchange) {
                  echo(exchange, options);
                }).value()) {}

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  [[nodiscard]] HttpClient client() const {
    return HttpClient::make("http://127.0.0.1:" + std::to_string(port())).value();
  }
  // How the first socket ended.
  Error ending() { return ending_.get_future().get(); }
  void stop() { server_->stop(); }

 private:
  void echo(HttpExchange& exchange, const WebSocketOptions& options) {
    auto socket = exchange.upgrade(options);
    if (!socket) return;
    for (;;) {
      auto message = (*socket)->receive(soon());
      if (!message) return ended(message.error());
      if (!*message) return ended({make_error_code(Errc::timeout), "no message"});
      const bool text = (*message)->kind == Kind::text;
      const auto sent = text ? (*socket)->send_text((*message)->body.text())
                             : (*socket)->send_bytes((*message)->body.bytes());
      if (!sent) return ended(sent.error());
    }
  }
  void ended(const Error& error) {
    if (!told_.exchange(true)) ending_.set_value(error);
  }

  std::promise<Error> ending_;
  std::atomic<bool> told_ = false;
  std::unique_ptr<HttpServer> server_;
};

TEST(WebSocket, CarriesMessagesBothWays) {
  const EchoServer server;
  auto socket = server.client().websocket("/", soon());
  ASSERT_TRUE(socket.has_value()) << socket.error().message();
  for (const std::size_t size : {0u, 1u, 125u, 126u, 65535u, 65536u, 3'000'001u}) {
    const std::string text(size, 'x');
    ASSERT_TRUE((*socket)->send_text(text));
    auto back = (*socket)->receive(soon());
    ASSERT_TRUE(back && *back) << size;
    EXPECT_EQ((*back)->kind, Kind::text);
    EXPECT_EQ((*back)->body.text(), text);
  }
  const std::array bytes{std::byte{0}, std::byte{255}};
  ASSERT_TRUE((*socket)->send_bytes(bytes));
  const auto back = (*socket)->receive(soon());
  EXPECT_EQ((*back)->kind, Kind::bytes);
  EXPECT_EQ((*back)->body.size(), 2u);
}

TEST(WebSocket, CarriesMessagesThroughTls) {
  const test::Certificate certificate("IP:127.0.0.1");
  HttpServerOptions options;
  options.tls = certificate.files();
  const EchoServer server({}, options);
  HttpClientOptions trusting;
  trusting.tls_ca = certificate.files().certificate;
  const auto client =
      HttpClient::make("https://127.0.0.1:" + std::to_string(server.port()), trusting).value();
  auto socket = client.websocket("/", soon());
  ASSERT_TRUE(socket.has_value()) << socket.error().message();
  // One thread sends while another receives.
  std::jthread sender([&] {
    for (int i = 0; i < 100; ++i) (void)(*socket)->send_text(std::string(50'000, 'x'));
  });
  for (int i = 0; i < 100; ++i) {
    auto back = (*socket)->receive(soon());
    ASSERT_TRUE(back && *back);
    EXPECT_EQ((*back)->body.size(), 50'000u);
  }
}

TEST(WebSocket, GivesNothingWhenNoMessageComesInTime) {
  const EchoServer server;
  auto socket = server.client().websocket("/", soon());
  auto none = (*socket)->receive(SteadyClock().now() + milliseconds(20));
  ASSERT_TRUE(none.has_value());
  EXPECT_FALSE(none->has_value());
  ASSERT_TRUE((*socket)->send_text("later"));
  EXPECT_EQ((**(*socket)->receive(soon())).body.text(), "later");
}

TEST(WebSocket, TellsBothEndsThatItWasClosed) {
  EchoServer server;
  auto socket = server.client().websocket("/", soon());
  (*socket)->close(4001, "enough");
  const Error there = server.ending();
  EXPECT_TRUE(there.is(Errc::closed));
  EXPECT_NE(there.message().find("4001: enough"), std::string::npos) << there.message();
  const auto here = (*socket)->receive(soon());
  ASSERT_FALSE(here.has_value());
  EXPECT_TRUE(here.error().is(Errc::closed)) << here.error().message();
  EXPECT_TRUE((*socket)->send_text("too late").error().is(Errc::closed));
}

TEST(WebSocket, ThatGoesIsClosed) {
  EchoServer server;
  {
    auto socket = server.client().websocket("/", soon());
  }
  EXPECT_TRUE(server.ending().is(Errc::closed));
}

TEST(WebSocket, TakesTheOtherEndForGoneWithoutASignOfLife) {
  WebSocketOptions options;
  options.ping_every = milliseconds(300);
  EchoServer server(options);
  RawClient client(server.port());
  client.send(
      "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  const Error ending = server.ending();
  EXPECT_TRUE(ending.is(Errc::unreachable)) << ending.message();
  EXPECT_NE(client.read_all().find("\r\n\r\n\x89"), std::string::npos) << "it was asked first";
}

TEST(WebSocket, StaysOpenWhileTheOtherEndAnswersPings) {
  WebSocketOptions options;
  options.ping_every = milliseconds(300);
  EchoServer server(options);
  auto socket = server.client().websocket("/", soon());
  // Long enough for several pings, which receiving answers.
  const auto none = (*socket)->receive(SteadyClock().now() + milliseconds(1000));
  ASSERT_TRUE(none.has_value()) << none.error().message();
  ASSERT_TRUE((*socket)->send_text("still here"));
  EXPECT_EQ((**(*socket)->receive(soon())).body.text(), "still here");
}

TEST(WebSocket, ServersStopWithOpenOnes) {
  EchoServer server;
  auto socket = server.client().websocket("/", soon());
  ASSERT_TRUE((*socket)->send_text("x"));
  ASSERT_TRUE((*socket)->receive(soon()));
  server.stop();
  EXPECT_FALSE((*socket)->receive(soon()).has_value());
}

TEST(WebSocket, TakesNoPlaceOfARequestAndIsRefusedAboveItsOwnLimit) {
  HttpServerOptions options;
  options.most_connections = 1;
  options.most_streams = 2;
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  const auto server = HttpServer::start(options, [&](HttpExchange& exchange) {
    if (exchange.request().path != "/stream") {
      (void)exchange.answer(200, "text/plain", "here", {{"Connection", "close"}});
      return;
    }
    const auto socket = exchange.upgrade();
    if (socket) (void)ended.wait_for(std::chrono::seconds(20));
  });
  ASSERT_TRUE(server.has_value());
  const std::string url = "http://127.0.0.1:" + std::to_string((*server)->port());
  const auto open = [&] { return HttpClient::make(url, {})->websocket("/stream", soon()); };
  const auto plain = [&] {
    RawClient client((*server)->port());
    client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    return client.read_all();
  };
  // A place is free again a moment after its client heard the answer.
  const auto eventually = [&](const auto& condition) {
    for (const TimePoint until = soon(); SteadyClock().now() < until;)
      if (condition()) return true;
    return false;
  };
  const auto first = open();
  ASSERT_TRUE(first.has_value()) << first.error().message();
  const auto second = open();
  ASSERT_TRUE(second.has_value()) << second.error().message();
  EXPECT_TRUE(eventually([&] { return plain().starts_with("HTTP/1.1 200"); }));
  std::string answer;
  EXPECT_TRUE(eventually([&] {
    RawClient third((*server)->port());
    third.send(
        "GET /stream HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    answer = third.read_all();
    return answer.starts_with("HTTP/1.1 503 ") && answer.find("2 web sockets") != std::string::npos;
  })) << answer;
  end.set_value();
  EXPECT_TRUE(eventually([&] { return open().has_value(); })) << "places are given back";
}

TEST(WebSocket, IsRefusedToPagesOfOtherHostsAndToPlainRequests) {
  const EchoServer server;
  RawClient page(server.port());
  page.send(
      "GET / HTTP/1.1\r\nHost: h\r\nOrigin: http://evil\r\nUpgrade: websocket\r\nConnection: "
      "Upgrade, close\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
      "dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  EXPECT_TRUE(page.read_all().starts_with("HTTP/1.1 403 "));
  const auto plain = server.client().get("/", soon());
  EXPECT_EQ(plain->status, 400);
}

TEST(WebSocket, SaysWhyAServerDoesNotOpenOne) {
  const auto server = HttpServer::start({}, [](HttpExchange& exchange) {
                        (void)exchange.answer(401, "text/plain", "no token");
                      }).value();
  const std::string url = "http://127.0.0.1:" + std::to_string(server->port());
  const auto socket = HttpClient::make(url)->websocket("/ws", soon());
  ASSERT_FALSE(socket.has_value());
  EXPECT_TRUE(socket.error().is(Errc::auth));
  EXPECT_NE(socket.error().message().find(url + "/ws"), std::string::npos);
}

// A client that writes frames by hand.
class RawSocket {
 public:
  explicit RawSocket(std::uint16_t port) : client_(port) {
    client_.send(
        "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    EXPECT_TRUE(client_.read_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
  }
  // With a mask of zeros, which changes nothing.
  void frame(unsigned first, std::string_view payload) {
    ASSERT_LT(payload.size(), 126u);
    std::string bytes{static_cast<char>(first), static_cast<char>(0x80 | payload.size())};
    bytes.append(4, '\0').append(payload);
    client_.send(bytes);
  }
  RawClient& client() { return client_; }

  // The code that the server closes with.
  int close_code() {
    const std::string rest = client_.read_all();
    const auto at = rest.find('\x88');
    if (at == std::string::npos || at + 4 > rest.size()) return 0;
    return static_cast<unsigned char>(rest[at + 2]) * 256 +
           static_cast<unsigned char>(rest[at + 3]);
  }

 private:
  RawClient client_;
};

TEST(WebSocket, JoinsAMessageOfSeveralFramesWithAPingBetween) {
  const EchoServer server;
  RawSocket socket(server.port());
  socket.frame(0x01, "one ");
  socket.frame(0x89, "ping");
  socket.frame(0x80, "two");
  EXPECT_EQ(socket.client().read_until("ping"), "\x8A\x04ping");
  EXPECT_EQ(socket.client().read_until("two"), "\x81\x07one two");
}

TEST(WebSocket, EndsWithACodeForWhatIsWrong) {
  const auto code_for = [](const std::function<void(RawSocket&)>& misbehave) {
    WebSocketOptions options;
    options.most_message = 100;
    const EchoServer server(options);
    RawSocket socket(server.port());
    misbehave(socket);
    return socket.close_code();
  };
  EXPECT_EQ(code_for([](RawSocket& s) { s.client().send("\x81\x01x"); }), 1002) << "no mask";
  EXPECT_EQ(code_for([](RawSocket& s) { s.frame(0x83, "x"); }), 1002);
  EXPECT_EQ(code_for([](RawSocket& s) { s.frame(0x80, "x"); }), 1002) << "continues nothing";
  EXPECT_EQ(code_for([](RawSocket& s) {
              s.frame(0x01, "x");
              s.frame(0x81, "y");
            }),
            1002)
      << "a message inside another";
  EXPECT_EQ(code_for([](RawSocket& s) { s.frame(0x81, "\xFF"); }), 1007);
  EXPECT_EQ(code_for([](RawSocket& s) { s.frame(0x82, std::string(101, 'x')); }), 1009);
  EXPECT_EQ(code_for([](RawSocket& s) {
              s.frame(0x02, std::string(60, 'x'));
              s.frame(0x80, std::string(60, 'x'));
            }),
            1009);
  EXPECT_EQ(code_for([](RawSocket& s) { s.frame(0x88, "x"); }), 1002) << "half a code";
  EXPECT_EQ(code_for([](RawSocket& s) { s.frame(0x88, "\x03\xED"); }), 1002) << "1005";
  EXPECT_EQ(code_for([](RawSocket& s) { s.frame(0x88, "\x0F\xA1why"); }), 4001) << "echoed";
  EXPECT_EQ(code_for([](RawSocket& s) { s.frame(0x88, ""); }), 1000);
}

TEST(WebSocket, AnHonestEndNeverSendsTextThatIsNone) {
  const EchoServer server;
  auto socket = server.client().websocket("/", soon());
  EXPECT_THROW((void)(*socket)->send_text("\xFF"), std::invalid_argument);
}

}  // namespace
}  // namespace muster::net
