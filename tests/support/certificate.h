#pragma once

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "muster/net/tls.h"
#include "tests/support/temp_dir.h"

namespace muster::test {

/// A key and a certificate that vouches for itself, valid for a day and the given names
/// ("DNS:localhost,IP:127.0.0.1"), in files that go with the object.
class Certificate {
 public:
  explicit Certificate(const std::string& names) {
    const Key key(::EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), ::EVP_PKEY_free);
    const Cert cert(::X509_new(), ::X509_free);
    check(key && cert);
    ::X509_set_version(cert.get(), 2);
    ASN1_INTEGER_set(::X509_get_serialNumber(cert.get()), 1);
    ::X509_gmtime_adj(X509_getm_notBefore(cert.get()), -3600);
    ::X509_gmtime_adj(X509_getm_notAfter(cert.get()), 86400);
    ::X509_set_pubkey(cert.get(), key.get());
    X509_NAME* name = ::X509_get_subject_name(cert.get());
    ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>("muster test"), -1, -1, 0);
    ::X509_set_issuer_name(cert.get(), name);
    add_extension(*cert, NID_subject_alt_name, names);
    add_extension(*cert, NID_basic_constraints, "critical,CA:TRUE");
    check(::X509_sign(cert.get(), key.get(), ::EVP_sha256()) > 0);
    const File certificate(std::fopen(files().certificate.c_str(), "w"), std::fclose);
    const File secret(std::fopen(files().key.c_str(), "w"), std::fclose);
    check(::PEM_write_X509(certificate.get(), cert.get()) == 1);
    check(::PEM_write_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
          1);
  }

  [[nodiscard]] net::TlsFiles files() const {
    return {(folder_.path() / "certificate.pem").string(), (folder_.path() / "key.pem").string()};
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
  using Cert = std::unique_ptr<X509, void (*)(X509*)>;
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

  static void check(bool good) {
    if (!good) throw std::runtime_error("cannot make a certificate");
  }
  static void add_extension(X509& cert, int nid, const std::string& value) {
    const std::unique_ptr<X509_EXTENSION, void (*)(X509_EXTENSION*)> extension(
        ::X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str()), ::X509_EXTENSION_free);
    check(extension && ::X509_add_ext(&cert, extension.get(), -1) == 1);
  }

  TempDir folder_;
};

}  // namespace muster::test
