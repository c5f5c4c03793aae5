#include "muster/net/tls_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <new>
#include <poll.h>
#include <sys/socket.h>
#include <vector>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "muster/net/errc.h"

namespace muster::net {
namespace {

int socket_of(BIO* bio) { return *static_cast<const int*>(::BIO_get_data(bio)); }

bool try_again_later() { return errno == EAGAIN || errno == EINTR; }

int send_through(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent =
      ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && try_again_later()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int receive_through(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto got = ::recv(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (got < 0 && try_again_later()) BIO_set_retry_read(bio);
  if (got == 0) ::BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

long control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return ::BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* socket_method() {
  static const std::unique_ptr<BIO_METHOD, void (*)(BIO_METHOD*)> method = [] {
    BIO_METHOD* made =
        ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "muster socket");
    if (made == nullptr) throw std::bad_alloc();
    ::BIO_meth_set_write(made, send_through);
    ::BIO_meth_set_read(made, receive_through);
    ::BIO_meth_set_ctrl(made, control);
    return std::unique_ptr<BIO_METHOD, void (*)(BIO_METHOD*)>(made, ::BIO_meth_free);
  }();
  return method.get();
}

Error why_it_failed(SSL* ssl, int error) {
  const std::string text = last_tls_error();
  if (const long verdict = ::SSL_get_verify_result(ssl); verdict != X509_V_OK) {
    return {make_error_code(Errc::auth), fmt::format("the server's certificate is not accepted: {}",
                                                     ::X509_verify_cert_error_string(verdict))};
  }
  if (error == SSL_ERROR_SYSCALL || text.find("unexpected eof") != std::string::npos)
    return {make_error_code(Errc::unreachable), "the connection broke"};
  return {make_error_code(Errc::protocol), "TLS: " + text};
}

}  // namespace

std::string last_tls_error() {
  const unsigned long code = ::ERR_get_error();
  if (code == 0) return "no reason given";
  std::array<char, 256> text{};
  ::ERR_error_string_n(code, text.data(), text.size());
  ::ERR_clear_error();
  return text.data();
}

TlsStream::TlsStream(ssl_ctx_st& context, FileDescriptor socket)
    : socket_(std::move(socket)), ssl_(::SSL_new(&context), ::SSL_free) {
  BIO* bio = ssl_ ? ::BIO_new(socket_method()) : nullptr;
  if (bio == nullptr) throw std::bad_alloc();
  fd_ = socket_.get();
  ::BIO_set_data(bio, &fd_);
  ::BIO_set_init(bio, 1);
  ::SSL_set_bio(ssl_.get(), bio, bio);
}

template <class Call>
TlsStream::Attempt TlsStream::attempt(const Call& call) {
  const std::lock_guard lock(mutex_);
  if (broken_)
    return {0, SSL_ERROR_SSL, {make_error_code(Errc::unreachable), "the connection broke"}};
  ::ERR_clear_error();
  errno = 0;
  const int result = call(ssl_.get());
  if (result > 0) return {result, SSL_ERROR_NONE, {{}, ""}};
  const int error = ::SSL_get_error(ssl_.get(), result);
  if (error != SSL_ERROR_SYSCALL && error != SSL_ERROR_SSL) return {result, error, {{}, ""}};
  broken_ = true;
  return {result, error, why_it_failed(ssl_.get(), error)};
}

Result<void> TlsStream::prepare_next(const Attempt& last, TimePoint deadline) {
  if (last.error == SSL_ERROR_WANT_READ) return wait_ready(socket_.get(), POLLIN, deadline);
  if (last.error == SSL_ERROR_WANT_WRITE) return wait_ready(socket_.get(), POLLOUT, deadline);
  if (last.error == SSL_ERROR_ZERO_RETURN) return fail(Errc::unreachable, "the connection ended");
  return fail(last.why);
}

Result<void> TlsStream::handshake(TimePoint deadline) {
  for (;;) {
    const Attempt tried = attempt([](SSL* ssl) { return ::SSL_do_handshake(ssl); });
    if (tried.result > 0) return {};
    if (auto next = prepare_next(tried, deadline); !next)
      return fail(next.error().within("TLS handshake"));
  }
}

Result<std::size_t> TlsStream::read_some(std::span<std::byte> into, TimePoint deadline) {
  const auto most = static_cast<int>(std::min<std::size_t>(
      into.size(), static_cast<std::size_t>(std::numeric_limits<int>::max())));
  for (;;) {
    const Attempt tried = attempt([&](SSL* ssl) { return ::SSL_read(ssl, into.data(), most); });
    if (tried.result > 0) return static_cast<std::size_t>(tried.result);
    if (tried.error == SSL_ERROR_ZERO_RETURN) return 0;
    if (auto next = prepare_next(tried, deadline); !next) return fail(next.error());
  }
}

Result<void> TlsStream::write_part(ByteSpan part, const Patience& patience) {
  TimePoint until = patience.next();
  while (!part.empty()) {
    const auto most = static_cast<int>(std::min<std::size_t>(part.size(), 1u << 30));
    const Attempt tried = attempt([&](SSL* ssl) { return ::SSL_write(ssl, part.data(), most); });
    if (tried.result > 0) {
      part = part.subspan(static_cast<std::size_t>(tried.result));
      until = patience.next();
    } else if (auto next = prepare_next(tried, until); !next) {
      return fail(next.error());
    }
  }
  return {};
}

Result<void> TlsStream::write_all(std::span<const ByteSpan> parts, const Patience& patience) {
  std::size_t bytes = 0;
  for (const ByteSpan& part : parts) bytes += part.size();
  if (parts.size() > 1 && bytes <= SSL3_RT_MAX_PLAIN_LENGTH) {  // one record for a small message
    std::vector<std::byte> whole;
    whole.reserve(bytes);
    for (const ByteSpan& part : parts) whole.insert(whole.end(), part.begin(), part.end());
    return write_part(whole, patience);
  }
  for (const ByteSpan& part : parts) {
    if (auto written = write_part(part, patience); !written) return written;
  }
  return {};
}

void TlsStream::end_writing() {
  attempt([](SSL* ssl) { return ::SSL_shutdown(ssl); });
  ::shutdown(socket_.get(), SHUT_WR);
}

bool TlsStream::quiet() {
  char byte = 0;
  return attempt([&](SSL* ssl) { return ::SSL_peek(ssl, &byte, 1); }).error == SSL_ERROR_WANT_READ;
}

void TlsStream::end_reading() { ::shutdown(socket_.get(), SHUT_RD); }

void TlsStream::cut() { ::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace muster::net
