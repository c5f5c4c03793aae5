#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "muster/net/byte_stream.h"

struct ssl_st;
struct ssl_ctx_st;

namespace muster::net {

/// What OpenSSL last complained about in this thread; takes it off.
[[nodiscard]] std::string last_tls_error();

/// One end of a TLS connection. OpenSSL's own socket BIO would raise SIGPIPE, so a BIO of ours does
/// the input and output; waiting happens here, outside of the lock, so that one thread can read
/// while another writes.
class TlsStream final : public ByteStream {
 public:
  TlsStream(ssl_ctx_st& context, FileDescriptor socket);

  /// To be set up before the handshake.
  [[nodiscard]] ssl_st* ssl() { return ssl_.get(); }

  Result<void> handshake(TimePoint deadline) override;
  Result<std::size_t> read_some(std::span<std::byte> into, TimePoint deadline) override;
  Result<void> write_all(std::span<const ByteSpan> parts, const Patience& patience) override;
  void end_writing() override;
  [[nodiscard]] bool quiet() override;
  void end_reading() override;
  void cut() override;

 private:
  struct Attempt {
    int result = 0;  // of the call
    int error = 0;   // of SSL_get_error
    Error why;
  };
  template <class Call>
  Attempt attempt(const Call& call);
  // After an attempt that could not go on: waits for what it needs, or says why it is over.
  Result<void> prepare_next(const Attempt& last, TimePoint deadline);
  Result<void> write_part(ByteSpan part, const Patience& patience);

  FileDescriptor socket_;
  int fd_ = -1;       // of `socket_`, where the BIO finds it
  std::mutex mutex_;  // guards what `ssl_` points to
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
  bool broken_ = false;  // after a fatal error OpenSSL wants no more calls
};

}  // namespace muster::net
