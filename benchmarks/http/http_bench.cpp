// Usage: bench_http CASE BYTES REPETITIONS [URL]
//
// Moves a body of BYTES through HTTP on this host, REPETITIONS times, and prints the seconds of
// each, one per line. CASE: `tcp` (the same bytes through a plain socket, the peer), `download`,
// `upload`, `tls` (a download), or `asks` (BYTES small requests one after the other). With a URL
// `download` asks that server instead of one of ours.

#include <array>
#include <cstdlib>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "muster/net/http/http_client.h"
#include "muster/net/http/http_server.h"
#include "muster/net/stream_socket.h"
#include "tests/support/certificate.h"

namespace {

using namespace muster;
using namespace muster::net;

constexpr std::string_view kType = "application/octet-stream";

TimePoint soon() { return SteadyClock().now() + std::chrono::seconds(60); }

[[noreturn]] void give_up(std::string_view why) {
  fmt::print(stderr, "bench_http: {}\n", why);
  std::exit(1);
}

template <class Call>
void measure(int repetitions, const Call& call) {
  for (int i = 0; i < repetitions; ++i) {
    const TimePoint begin = SteadyClock().now();
    call();
    const std::chrono::duration<double> seconds = SteadyClock().now() - begin;
    fmt::print("{:.6f}\n", seconds.count());
  }
}

class Bench {
 public:
  Bench(std::size_t bytes, int repetitions)
      : repetitions_(repetitions), there_(bytes), here_(bytes) {}

  void tcp() {
    const FileDescriptor listener = listen_tcp("127.0.0.1", 0).value();
    const FileDescriptor client = connect_tcp("127.0.0.1", local_port(listener), soon()).value();
    (void)wait_ready(listener.get(), POLLIN, soon());
    SocketStream out(FileDescriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK)));
    std::jthread sender([&] {
      for (int i = 0; i < repetitions_; ++i) {
        const std::array parts{ByteSpan(there_)};
        (void)out.write_all(parts, {soon(), Duration::max()});
      }
    });
    measure(repetitions_, [&] {
      std::size_t used = 0;
      while (used < here_.size()) {
        const auto into = std::span(here_).subspan(used);
        const auto text = std::span(reinterpret_cast<char*>(into.data()), into.size());
        used += receive_some(client, text, soon()).value();
      }
    });
  }

  void http(const std::string& what, const std::string& url) {
    const test::Certificate certificate("IP:127.0.0.1");
    HttpServerOptions options;
    if (what == "tls") options.tls = certificate.files();
    const auto server =
        HttpServer::start(options, [this](HttpExchange& exchange) { serve(exchange); }).value();
    HttpClientOptions trusting;
    trusting.tls_ca = what == "tls" ? certificate.files().certificate : "";
    const std::string ours =
        fmt::format("{}://127.0.0.1:{}", what == "tls" ? "https" : "http", server->port());
    const auto client = HttpClient::make(url.empty() ? ours : url, trusting).value();
    if (what == "asks") {
      measure(repetitions_, [&] {
        for (std::size_t i = 0; i < here_.size(); ++i) check(client.get("/small", soon()));
      });
    } else if (what == "upload") {
      const std::array parts{ByteSpan(here_)};
      measure(repetitions_, [&] { check(client.request("PUT", "/", parts, {}, soon())); });
    } else {
      const auto room = [this](const HttpHead&) { return std::span(here_); };
      measure(repetitions_, [&] {
        check(client.request_into("GET", url.empty() ? "/" : "/data", {}, {}, room, soon()));
      });
    }
  }

 private:
  void serve(HttpExchange& exchange) {
    const HttpRequest& request = exchange.request();
    if (request.method == "PUT") {
      std::size_t used = 0;
      for (;;) {
        const auto got = exchange.read_body(std::span(there_).subspan(used));
        if (!got || *got == 0) break;
        used += *got;
      }
      (void)exchange.answer(200, "", "");
    } else {
      (void)exchange.answer(200, kType,
                            request.path == "/small" ? as_bytes("x") : ByteSpan(there_));
    }
  }
  static void check(const Result<HttpReply>& reply) {
    if (!reply) give_up(reply.error().message());
    if (!reply->ok()) give_up(fmt::format("the answer was {}", reply->status));
  }

  int repetitions_;
  std::vector<std::byte> there_;
  std::vector<std::byte> here_;
};

}  // namespace

int main(int count, char** words) {
  if (count < 4) give_up("usage: bench_http tcp|download|upload|tls|asks BYTES REPETITIONS [URL]");
  const std::string what = words[1];
  Bench bench(std::strtoull(words[2], nullptr, 10), std::atoi(words[3]));
  if (what == "tcp") {
    bench.tcp();
  } else {
    bench.http(what, count > 4 ? words[4] : "");
  }
  return 0;
}
