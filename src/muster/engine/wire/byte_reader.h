#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "muster/base/buffer.h"
#include "muster/engine/errors.h"

namespace muster::engine {

/// Reads what ByteWriter wrote, from anybody. Throws ArrayError (value) that says at which byte
/// what was expected.
class ByteReader {
 public:
  explicit ByteReader(ByteSpan bytes) : bytes_(bytes) {}

  template <class Number>
  [[nodiscard]] Number number() {
    Number value;
    std::memcpy(&value, raw(sizeof value).data(), sizeof value);
    return value;
  }
  /// A number of items that each take at least `least` bytes, so that it cannot promise more than
  /// there is.
  [[nodiscard]] std::size_t count(std::size_t least) {
    const std::size_t items = number<std::uint32_t>();
    if (items > left() / least)
      refuse(fmt::format("{} items do not fit into {} bytes", items, left()));
    return items;
  }
  /// Likewise for items that take much more memory than bytes here: of all together there are at
  /// most `kMostLarge`.
  [[nodiscard]] std::size_t count_large() {
    const std::size_t items = count(1);
    large_ += items;
    if (large_ > kMostLarge) refuse(fmt::format("more than {} values in lists", kMostLarge));
    return items;
  }
  [[nodiscard]] std::string_view text() {
    const std::size_t length = count(1);
    if (length > kLongestText) refuse(fmt::format("a text of {} bytes", length));
    return as_text(raw(length));
  }
  [[nodiscard]] ByteSpan raw(std::size_t length) {
    if (length > left())
      refuse(fmt::format("{} bytes are wanted, but {} are left", length, left()));
    const ByteSpan out = bytes_.subspan(at_, length);
    at_ += length;
    return out;
  }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }

  [[noreturn]] void refuse(const std::string& what) const {
    wrong_value(fmt::format("malformed graph at byte {}: {}", at_, what));
  }

 private:
  static constexpr std::size_t kLongestText = 64 * 1024;
  static constexpr std::size_t kMostLarge = 4'000'000;

  ByteSpan bytes_;
  std::size_t at_ = 0;
  std::size_t large_ = 0;
};

}  // namespace muster::engine
