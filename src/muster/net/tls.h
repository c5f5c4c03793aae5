#pragma once

#include <memory>
#include <string>

#include "muster/base/result.h"
#include "muster/net/byte_stream.h"
#include "muster/runtime/fd.h"

struct ssl_ctx_st;

namespace muster::net {

/// What a server shows of itself: a certificate with those that vouch for it, and its key, both
/// PEM.
struct TlsFiles {
  std::string certificate{};
  std::string key{};
};

/// What all TLS connections of a server or a client share: TLS 1.2 or later, by OpenSSL.
/// Thread-safe; cheap to copy.
class TlsContext {
 public:
  /// `Errc::invalid_address` names the file that cannot be used.
  [[nodiscard]] static Result<TlsContext> for_server(const TlsFiles& files);
  /// Believes those in the PEM file, or those the system believes when the name is empty.
  [[nodiscard]] static Result<TlsContext> for_client(const std::string& ca_file);

  /// The server's end of a connection. The socket does not block.
  [[nodiscard]] std::unique_ptr<ByteStream> accept(FileDescriptor socket) const;
  /// The client's end. The handshake fails with `Errc::auth` unless the server has a valid
  /// certificate for `host`, a name or an address.
  [[nodiscard]] std::unique_ptr<ByteStream> connect(FileDescriptor socket,
                                                    const std::string& host) const;

 private:
  explicit TlsContext(std::shared_ptr<ssl_ctx_st> context) : context_(std::move(context)) {}

  std::shared_ptr<ssl_ctx_st> context_;
};

}  // namespace muster::net
