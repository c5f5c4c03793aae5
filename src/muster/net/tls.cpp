#include "muster/net/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "muster/net/errc.h"
#include "muster/net/tls_stream.h"

namespace muster::net {
namespace {

using Shared = std::shared_ptr<ssl_ctx_st>;

Shared make_context(const SSL_METHOD* method) {
  Shared context(::SSL_CTX_new(method), ::SSL_CTX_free);
  if (!context) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // A write may be repeated from another address, and go on after a part of it.
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return context;
}

tl::unexpected<Error> unusable(std::string_view what, const std::string& file) {
  return fail(Errc::invalid_address, fmt::format("{} '{}': {}", what, file, last_tls_error()));
}

}  // namespace

Result<TlsContext> TlsContext::for_server(const TlsFiles& files) {
  Shared context = make_context(::TLS_server_method());
  ::ERR_clear_error();
  if (::SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1)
    return unusable("the TLS certificate", files.certificate);
  if (::SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return unusable("the TLS key", files.key);
  if (::SSL_CTX_check_private_key(context.get()) != 1)
    return unusable("the TLS key does not belong to the certificate", files.certificate);
  return TlsContext(std::move(context));
}

Result<TlsContext> TlsContext::for_client(const std::string& ca_file) {
  Shared context = make_context(::TLS_client_method());
  ::ERR_clear_error();
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (ca_file.empty()) {
    if (::SSL_CTX_set_default_verify_paths(context.get()) != 1)
      return unusable("the TLS certificates of", "the system");
  } else if (::SSL_CTX_load_verify_file(context.get(), ca_file.c_str()) != 1) {
    return unusable("the TLS certificates", ca_file);
  }
  return TlsContext(std::move(context));
}

std::unique_ptr<ByteStream> TlsContext::accept(FileDescriptor socket) const {
  auto stream = std::make_unique<TlsStream>(*context_, std::move(socket));
  ::SSL_set_accept_state(stream->ssl());
  return stream;
}

std::unique_ptr<ByteStream> TlsContext::connect(FileDescriptor socket,
                                                const std::string& host) const {
  auto stream = std::make_unique<TlsStream>(*context_, std::move(socket));
  SSL* ssl = stream->ssl();
  ::SSL_set_connect_state(ssl);
  // Fails when the host is no numeric address; then it is a name.
  if (::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), host.c_str()) != 1) {
    ::SSL_set1_host(ssl, host.c_str());
    SSL_set_tlsext_host_name(ssl, host.c_str());
  }
  ::ERR_clear_error();
  return stream;
}

}  // namespace muster::net
