#include "muster/service/web/session_ticket.h"

#include <charconv>
#include <cstdint>
#include <sodium.h>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/service/token.h"

namespace muster::service {

namespace {

constexpr std::string_view kPurpose = "muster session ticket, version 1";
constexpr std::size_t kSealBytes = 16;

const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

template <std::size_t Bytes>
std::array<unsigned char, Bytes> hash(std::string_view text, const unsigned char* key,
                                      std::size_t key_bytes) {
  std::array<unsigned char, Bytes> out{};
  crypto_generichash(out.data(), out.size(), raw(text), text.size(), key, key_bytes);
  return out;
}

template <std::size_t Bytes>
std::string hex(const std::array<unsigned char, Bytes>& bytes) {
  std::string text;
  for (const unsigned char each : bytes) text += fmt::format("{:02x}", each);
  return text;
}

}  // namespace

SessionTickets::SessionTickets(std::string_view key) {
  const int ready = sodium_init();
  MUSTER_ASSERT(ready >= 0, "libsodium can be used");
  key_ = hash<32>(key, raw(kPurpose), kPurpose.size());
}

std::string SessionTickets::make(engine::SessionId session) const {
  const std::string number = fmt::format("{}", session.value());
  return fmt::format("{}.{}", number, hex(hash<kSealBytes>(number, key_.data(), key_.size())));
}

std::optional<engine::SessionId> SessionTickets::read(std::string_view ticket) const {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(ticket.data(), ticket.data() + ticket.size(), number);
  if (error != std::errc()) return std::nullopt;
  const engine::SessionId session(number);
  if (!same_token(ticket, make(session))) return std::nullopt;
  return session;
}

std::string fingerprint(std::string_view text) {
  return hex(hash<kSealBytes>(text, raw(kPurpose), kPurpose.size()));
}

}  // namespace muster::service
