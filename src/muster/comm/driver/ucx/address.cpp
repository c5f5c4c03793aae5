#include "muster/comm/driver/ucx/address.h"

#include <sodium.h>

namespace muster::comm {
namespace {

constexpr std::string_view kLocal = "ucx://local/";
constexpr std::string_view kNet = "ucx://net/";
constexpr int kVariant = sodium_base64_VARIANT_URLSAFE;  // without '/'

std::string encode(std::string_view bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), kVariant);
  text.pop_back();  // the end of a C string
  return text;
}

std::optional<std::string> decode(std::string_view text) {
  std::string bytes(text.size(), '\0');
  std::size_t length = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &length, nullptr, kVariant) != 0) {
    return std::nullopt;
  }
  bytes.resize(length);
  return bytes;
}

}  // namespace

std::string format_ucx_address(const UcxAddress& address) {
  return std::string(address.host_only ? kLocal : kNet) + encode(address.whole) + "/" +
         encode(address.network);
}

std::optional<UcxAddress> parse_ucx_address(std::string_view text) {
  const bool local = text.starts_with(kLocal);
  if (!local && !text.starts_with(kNet)) return std::nullopt;
  text.remove_prefix(local ? kLocal.size() : kNet.size());
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto whole = decode(text.substr(0, slash));
  auto network = decode(text.substr(slash + 1));
  if (!whole || !network || whole->empty() || network->empty()) return std::nullopt;
  return UcxAddress{.host_only = local, .whole = *std::move(whole), .network = *std::move(network)};
}

}  // namespace muster::comm
