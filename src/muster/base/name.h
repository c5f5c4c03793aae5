#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

/// An immutable text that is cheap to copy: peer names, types and tags travel in every message. Up
/// to `kInline` characters live inside, because counting references would cost more than copying
/// them (20 ns against 2); longer texts are shared. Thread-safe to copy and read.
class Name {
 public:
  static constexpr std::size_t kInline = 31;

  Name() noexcept = default;
  Name(std::string_view text) {  // NOLINT(google-explicit-constructor)
    if (text.size() > kInline) {
      share(std::make_shared<const std::string>(text));
    } else if (!text.empty()) {
      std::memcpy(block_.data(), text.data(), text.size());
      set_size(static_cast<std::uint8_t>(text.size()));
    }
  }
  Name(const std::string& text)
      : Name(std::string_view(text)) {}                     // NOLINT(google-explicit-constructor)
  Name(const char* text) : Name(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)

  Name(const Name& other) {
    if (other.is_shared()) [[unlikely]] {
      share(other.shared());
    } else {
      block_ = other.block_;
    }
  }
  Name(Name&& other) noexcept { take(other); }
  Name& operator=(const Name& other) {
    if (is_shared() || other.is_shared()) [[unlikely]]
      return *this = Name(other);
    block_ = other.block_;
    return *this;
  }
  Name& operator=(Name&& other) noexcept {
    if (this == &other) return *this;
    destroy();
    take(other);
    return *this;
  }
  ~Name() { destroy(); }

  [[nodiscard]] std::string_view view() const noexcept {
    if (is_shared()) return *shared();
    return {reinterpret_cast<const char*>(block_.data()), inside()};
  }
  [[nodiscard]] std::string str() const { return std::string(view()); }
  [[nodiscard]] bool empty() const noexcept { return inside() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return view().size(); }
  operator std::string_view() const noexcept {
    return view();
  }  // NOLINT(google-explicit-constructor)

  friend bool operator==(const Name& a, const Name& b) noexcept {
    if (((a.word(0) ^ b.word(0)) | (a.word(1) ^ b.word(1)) | (a.word(2) ^ b.word(2)) |
         (a.word(3) ^ b.word(3))) == 0)
      return true;
    return a.is_shared() && b.is_shared() && *a.shared() == *b.shared();
  }
  friend bool operator==(const Name& a, std::string_view b) noexcept {
    if (a.is_shared()) [[unlikely]]
      return *a.shared() == b;
    return a.inside() == b.size() && a.starts_with(b.data(), b.size());
  }
  friend bool operator==(const Name& a, const char* b) noexcept { return a == std::string_view(b); }
  friend std::strong_ordering operator<=>(const Name& a, const Name& b) noexcept {
    return a.view() <=> b.view();
  }

 private:
  using Shared = std::shared_ptr<const std::string>;
  using Block = std::array<std::byte, kInline + 1>;
  static constexpr std::uint8_t kShared = 0xFF;  // instead of the size of what is inside

  [[nodiscard]] std::uint8_t inside() const noexcept {
    return static_cast<std::uint8_t>(block_.back());
  }
  void set_size(std::uint8_t size) noexcept { block_.back() = static_cast<std::byte>(size); }
  [[nodiscard]] bool is_shared() const noexcept { return inside() == kShared; }
  [[nodiscard]] std::uint64_t word(std::size_t index) const noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, block_.data() + index * sizeof word, sizeof word);
    return word;
  }
  // Names are compared for every message, and a call would take longer than this.
  [[nodiscard]] bool starts_with(const char* text, std::size_t size) const noexcept {
    const std::byte* mine = block_.data();
    std::uint64_t difference = 0;
    const auto piece = [&]<class Word>(Word a) {
      Word b{};
      std::memcpy(&a, mine, sizeof a);
      std::memcpy(&b, text, sizeof b);
      difference |= static_cast<std::uint64_t>(a ^ b);
      mine += sizeof a;
      text += sizeof b;
    };
    for (; size >= 8; size -= 8) piece(std::uint64_t{});
    if ((size & 4) != 0) piece(std::uint32_t{});
    if ((size & 2) != 0) piece(std::uint16_t{});
    if ((size & 1) != 0) piece(std::uint8_t{});
    return difference == 0;
  }
  [[nodiscard]] const Shared& shared() const noexcept {
    return *std::launder(reinterpret_cast<const Shared*>(block_.data()));
  }
  [[nodiscard]] Shared& shared() noexcept {
    return *std::launder(reinterpret_cast<Shared*>(block_.data()));
  }
  // Finds the name empty.
  void share(Shared text) noexcept {
    new (block_.data()) Shared(std::move(text));
    set_size(kShared);
  }
  // Finds nothing that has to be destroyed.
  void take(Name& other) noexcept {
    block_ = other.block_;
    if (other.is_shared()) [[unlikely]] {
      new (block_.data()) Shared(std::move(other.shared()));
      other.destroy();
    }
    other.block_ = {};
  }
  void destroy() noexcept {
    if (is_shared()) [[unlikely]]
      std::destroy_at(&shared());
  }

  // The characters or a `Shared`, zeros, and in the last byte the size: copied and compared as a
  // whole, because a processor that reads what was just written in other pieces waits until that
  // is in its cache, and behind a message for somebody else that is long.
  alignas(16) Block block_{};
};
static_assert(sizeof(Name) == 32);

/// Lets maps keyed by `Name` be asked with a `std::string_view`.
struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
  std::size_t operator()(const Name& name) const noexcept {
    return std::hash<std::string_view>{}(name.view());
  }
};

struct NameEqual {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const noexcept { return a == b; }
};

}  // namespace muster

template <>
struct std::hash<muster::Name> : muster::NameHash {};
