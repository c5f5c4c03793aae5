#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "muster/net/byte_stream.h"

namespace muster::test {

/// Gives a text in pieces and then its end; keeps what is written.
class MemoryStream final : public net::ByteStream {
 public:
  explicit MemoryStream(std::string_view text, std::size_t piece = 1)
      : text_(text), piece_(piece) {}

  std::string written{};

  Result<void> handshake(TimePoint) override { return {}; }
  Result<std::size_t> read_some(std::span<std::byte> into, TimePoint) override {
    const std::size_t size = std::min({into.size(), piece_, text_.size() - at_});
    std::memcpy(into.data(), text_.data() + at_, size);
    at_ += size;
    return size;
  }
  Result<void> write_all(std::span<const ByteSpan> parts, const net::Patience&) override {
    for (const ByteSpan& part : parts) written.append(as_text(part));
    return {};
  }
  void end_writing() override {}
  [[nodiscard]] bool quiet() override { return at_ == text_.size(); }
  void end_reading() override { at_ = text_.size(); }
  void cut() override { at_ = text_.size(); }

 private:
  std::string text_;
  std::size_t piece_;
  std::size_t at_ = 0;
};

}  // namespace muster::test
