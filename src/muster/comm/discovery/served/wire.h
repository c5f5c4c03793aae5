#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// The messages between a `ServedStore` and a `StoreServer`: texts, one per ZeroMQ part. Specified
/// in docs/internals/discovery.md.
namespace muster::comm::served {

using Parts = std::vector<std::string>;

inline constexpr std::string_view kProtocol = "muster store 1";

namespace verb {
inline constexpr std::string_view ping = "ping";
inline constexpr std::string_view put = "put";
inline constexpr std::string_view remove = "remove";
inline constexpr std::string_view list = "list";
inline constexpr std::string_view wait = "wait";
}  // namespace verb

namespace answer {
inline constexpr std::string_view ok = "ok";
inline constexpr std::string_view taken = "taken";
inline constexpr std::string_view full = "full";
inline constexpr std::string_view changed = "changed";
inline constexpr std::string_view same = "same";
}  // namespace answer

// A part that is longer is dropped together with its connection. An entry has 64 KiB at most.
inline constexpr int kLongestPart = 128 << 10;
// Messages that may wait in one direction of a connection; more to a reader that does not read are
// dropped. Each asks one thing at a time, but libzmq looks only once in a millisecond whether what
// it counts as waiting has left: as many as are answered meanwhile must fit.
inline constexpr int kMostQueued = 256;

/// The whole text as a number.
[[nodiscard]] inline std::optional<std::uint64_t> number(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace muster::comm::served
