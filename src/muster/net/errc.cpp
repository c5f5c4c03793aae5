#include "muster/net/errc.h"

#include <string>

namespace muster::net {
namespace {

const char* text(Errc errc) {
  switch (errc) {
    case Errc::unreachable: return "the server cannot be reached";
    case Errc::timeout: return "the server did not answer in time";
    case Errc::auth: return "the server refused the password";
    case Errc::protocol: return "the server broke the protocol";
    case Errc::server_error: return "the server answered with an error";
    case Errc::invalid_address: return "the address cannot be read";
  }
  return "unknown network error";
}

class Category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "muster.net"; }
  [[nodiscard]] std::string message(int value) const override {
    return text(static_cast<Errc>(value));
  }
};

}  // namespace

std::error_code make_error_code(Errc errc) {
  static const Category category;
  return {static_cast<int>(errc), category};
}

}  // namespace muster::net
