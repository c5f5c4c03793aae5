#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/buffer.h"

namespace muster::engine {

/// Appends numbers and texts in the form that README.md specifies.
class ByteWriter {
 public:
  template <class Number>
  void number(Number value) {
    static_assert(std::is_arithmetic_v<Number>);
    const auto at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void count(std::size_t items) { number(static_cast<std::uint32_t>(items)); }
  void text(std::string_view value) {
    count(value.size());
    raw(as_bytes(value));
  }
  void raw(ByteSpan value) { bytes_.insert(bytes_.end(), value.begin(), value.end()); }

  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace muster::engine
