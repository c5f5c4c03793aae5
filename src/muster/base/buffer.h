#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace muster {

using ByteSpan = std::span<const std::byte>;

[[nodiscard]] inline ByteSpan as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

[[nodiscard]] inline std::string_view as_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Copies bytes that were just written, as those of a message that is made and sent at once: up to
/// 127 in pieces of at most 16, each of which lies within what was written at once. memcpy reads 32
/// and overlapping pieces, and a processor that reads what was written in other pieces waits until
/// it is in its cache. Returns the end of the copy.
inline std::byte* copy_fresh(std::byte* to, const std::byte* from, std::size_t size) {
  if (size >= 128) {
    std::memcpy(to, from, size);
    return to + size;
  }
  const auto piece = [&](auto bytes) {
    if ((size & bytes) == 0) return;
    std::memcpy(to, from, bytes);
    to += bytes;
    from += bytes;
  };
  piece(std::integral_constant<std::size_t, 64>());
  piece(std::integral_constant<std::size_t, 32>());
  piece(std::integral_constant<std::size_t, 16>());
  piece(std::integral_constant<std::size_t, 8>());
  piece(std::integral_constant<std::size_t, 4>());
  piece(std::integral_constant<std::size_t, 2>());
  piece(std::integral_constant<std::size_t, 1>());
  return to;
}

/// Immutable bytes that are cheap to copy: up to `kInline` live inside, more are shared with an
/// owner (heap memory, a received frame, a block of shared memory, a Python object). The owner
/// lives as long as the last buffer that refers to it. Thread-safe to copy and read.
class Buffer {
 public:
  /// Small messages are the common case; 64 bytes keep them free of heap memory.
  static constexpr std::size_t kInline = 64;

  Buffer() = default;

  /// A copy of `bytes`.
  [[nodiscard]] static Buffer copy_of(ByteSpan bytes) {
    if (bytes.size() > kInline) return large_copy_of(bytes);
    Buffer buffer;
    buffer.put_inside(bytes);
    return buffer;
  }
  /// Becomes a copy of `bytes`; cheaper than assigning one.
  void assign(ByteSpan bytes) {
    if (bytes.size() > kInline) {
      *this = large_copy_of(bytes);
      return;
    }
    owner_.reset();
    terms_ = Terms::shared;
    put_inside(bytes);
  }
  /// Takes a vector over without copying its contents.
  [[nodiscard]] static Buffer take(std::vector<std::byte> bytes);
  /// Refers to `bytes`, which stay valid and unchanged while `owner` lives.
  [[nodiscard]] static Buffer share(ByteSpan bytes, std::shared_ptr<const void> owner);
  /// Refers to `bytes`, which stay unchanged only until the call that the buffer is passed to
  /// returns: whoever keeps it for longer keeps what `kept` gives.
  [[nodiscard]] static Buffer lend(ByteSpan bytes, std::shared_ptr<const void> owner);
  /// Refers to `bytes`, which nothing but buffers of `owner` refers to: whoever holds all of those
  /// may change them.
  [[nodiscard]] static Buffer give(std::span<std::byte> bytes, std::shared_ptr<const void> owner);

  [[nodiscard]] const std::byte* data() const noexcept {
    return size_ <= kInline && !owner_ ? inline_.data() : data_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] ByteSpan bytes() const noexcept { return {data(), size_}; }
  [[nodiscard]] std::string_view text() const noexcept { return as_text(bytes()); }
  [[nodiscard]] bool lent() const noexcept { return terms_ == Terms::lent; }
  [[nodiscard]] bool given() const noexcept { return terms_ == Terms::given; }
  /// The same bytes for as long as anybody likes: a copy if they are only lent.
  [[nodiscard]] Buffer kept() const { return lent() ? copy_of(bytes()) : *this; }
  /// What keeps the bytes alive; null when they are inside the buffer.
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return owner_; }

  friend bool operator==(const Buffer& a, const Buffer& b) noexcept { return a.text() == b.text(); }

 private:
  enum class Terms : unsigned char { shared, lent, given };

  [[nodiscard]] static Buffer large_copy_of(ByteSpan bytes);
  void put_inside(ByteSpan bytes) {
    size_ = bytes.size();
    copy_fresh(inline_.data(), bytes.data(), bytes.size());
  }

  std::size_t size_ = 0;
  Terms terms_ = Terms::shared;
  std::shared_ptr<const void> owner_;
  union {
    const std::byte* data_;
    std::array<std::byte, kInline> inline_;
  };
};

}  // namespace muster
