#include "muster/net/http/http_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <list>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/net/http/refusals.h"
#include "muster/net/http/server_connection.h"
#include "muster/net/stream_socket.h"
#include "muster/net/tls.h"
#include "muster/runtime/interrupt.h"
#include "muster/runtime/poll.h"

namespace muster::net {
namespace {

using std::chrono::milliseconds;

constexpr Duration kGrace = milliseconds(500);
// Without descriptors or memory accepting fails at once, again and again.
constexpr Duration kBackOff = milliseconds(100);

}  // namespace

class HttpServer::State {
 public:
  State(HttpServerOptions options, Handler handler, FileDescriptor listener,
        std::optional<TlsContext> tls, Interrupt interrupt)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        listener_(std::move(listener)),
        port_(local_port(listener_)),
        tls_(std::move(tls)),
        interrupt_(std::move(interrupt)),
        acceptor_([this] { accept_all(); }) {}

  [[nodiscard]] std::uint16_t port() const { return port_; }

  [[nodiscard]] std::size_t connections() {
    const std::lock_guard lock(mutex_);
    return open_;
  }

  void stop();

 private:
  struct Client {
    template <class... Arguments>
    explicit Client(Arguments&&... arguments) : connection(std::forward<Arguments>(arguments)...) {}
    ServerConnection connection;
    bool done = false;  // `mutex_` must be held
    std::thread thread;
  };

  void accept_all();
  // False when the next attempt should wait.
  bool accept_one();
  void admit(FileDescriptor socket);
  bool start_thread(FileDescriptor& socket);
  void serve(Client& client);
  // Joins the threads of clients that are gone.
  void bury();

  const HttpServerOptions options_;
  const Handler handler_;
  FileDescriptor listener_;
  const std::uint16_t port_;
  const std::optional<TlsContext> tls_;
  const Interrupt interrupt_;
  ServerState shared_;
  Refusals refusals_;          // only of the acceptor
  bool accept_fails_ = false;  // likewise

  std::mutex stop_mutex_;
  std::mutex mutex_;
  std::condition_variable gone_;
  std::list<Client> clients_;  // `mutex_` must be held; only the acceptor and `stop` change it
  std::size_t open_ = 0;       // `mutex_` must be held
  std::thread acceptor_;
};

void HttpServer::State::accept_all() {
  while (!shared_.stopping) {
    std::array slots{pollfd{listener_.get(), POLLIN, 0}, pollfd{interrupt_.fd(), POLLIN, 0}};
    const TimePoint wake = refusals_.next_look();
    (void)poll_until(slots, wake);
    (void)interrupt_.take();
    bury();
    refusals_.look();
    if (shared_.stopping || (slots[0].revents & POLLIN) == 0 || accept_one()) continue;
    std::array pause{pollfd{interrupt_.fd(), POLLIN, 0}};
    (void)poll_until(pause, SteadyClock().now() + kBackOff);
  }
}

bool HttpServer::State::accept_one() {
  FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    const bool passing = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    if (!passing && !std::exchange(accept_fails_, true))
      log(LogLevel::warning, "http", "{}", system_error(errno, "accept a connection").message());
    return passing;
  }
  accept_fails_ = false;
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  admit(std::move(socket));
  return true;
}

void HttpServer::State::admit(FileDescriptor socket) {
  const std::size_t streams = shared_.streams;  // first: one that ends meanwhile leaves room
  const bool room = connections() < options_.most_connections + streams;
  if (room && start_thread(socket)) return;
  // Without its thread there is no TLS, so such a client only sees the end.
  if (!tls_ && socket) refusals_.add(std::move(socket));
}

bool HttpServer::State::start_thread(FileDescriptor& socket) {
  const std::string peer = peer_text(socket);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<ByteStream> stream =
      tls_ ? tls_->accept(std::move(socket)) : std::make_unique<SocketStream>(std::move(socket));
  Client& client = clients_.emplace_back(std::move(stream), peer, options_, handler_, shared_);
  try {
    client.thread = std::thread([this, &client] { serve(client); });
  } catch (const std::system_error& error) {
    log(LogLevel::error, "http", "no thread for {}: {}", peer, error.what());
    clients_.pop_back();
    return false;
  }
  ++open_;
  return true;
}

void HttpServer::State::serve(Client& client) {
  client.connection.run();
  const std::lock_guard lock(mutex_);
  client.done = true;
  --open_;
  gone_.notify_all();
  interrupt_.set();
}

void HttpServer::State::bury() {
  std::list<Client> dead;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = clients_.begin(); at != clients_.end();) {
      const auto here = at++;
      if (here->done) dead.splice(dead.end(), clients_, here);
    }
  }
  for (Client& client : dead) client.thread.join();
}

void HttpServer::State::stop() {
  const std::lock_guard stopped_once(stop_mutex_);
  shared_.stopping = true;
  interrupt_.set();
  if (acceptor_.joinable()) acceptor_.join();
  listener_.reset();
  {
    std::unique_lock lock(mutex_);
    for (Client& client : clients_) client.connection.end_reading();
    gone_.wait_for(lock, kGrace, [this] { return open_ == 0; });
    for (Client& client : clients_) client.connection.cut();
    gone_.wait(lock, [this] { return open_ == 0; });
  }
  bury();
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, Handler handler) {
  if (!handler) throw std::invalid_argument("[http] a server needs a handler");
  std::optional<TlsContext> tls;
  if (options.tls) {
    auto made = TlsContext::for_server(*options.tls);
    if (!made) return fail(made.error());
    tls = *std::move(made);
  }
  auto interrupt = Interrupt::create();
  if (!interrupt) return fail(interrupt.error());
  auto listener = listen_tcp(options.host, options.port);
  if (!listener) return fail(listener.error());
  auto state = std::make_unique<State>(std::move(options), std::move(handler), *std::move(listener),
                                       std::move(tls), *std::move(interrupt));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

std::uint16_t HttpServer::port() const { return state_->port(); }

std::size_t HttpServer::connections() const { return state_->connections(); }

void HttpServer::stop() { state_->stop(); }

}  // namespace muster::net
