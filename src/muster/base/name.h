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
  Name(std::string_view text) : Name() {  // NOLINT(google-explicit-constructor)
    if (text.size() > kInline) {
      share(std::make_shared<const std::string>(text));
    } else if (!text.empty()) {
      std::memcpy(storage_.data(), text.data(), text.size());
      size_ = static_cast<std::uint8_t>(text.size());
    }
  }
  Name(const std::string& text)
      : Name(std::string_view(text)) {}                     // NOLINT(google-explicit-constructor)
  Name(const char* text) : Name(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)

  Name(const Name& other) : Name() { copy(other); }
  Name(Name&& other) noexcept : Name() { take(other); }
  Name& operator=(const Name& other) {
    if (this == &other) return *this;
    clear();
    copy(other);
    return *this;
  }
  Name& operator=(Name&& other) noexcept {
    if (this == &other) return *this;
    clear();
    take(other);
    return *this;
  }
  ~Name() { clear(); }

  [[nodiscard]] std::string_view view() const noexcept {
    if (size_ == kShared) return *shared();
    return {reinterpret_cast<const char*>(storage_.data()), size_};
  }
  [[nodiscard]] std::string str() const { return std::string(view()); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return view().size(); }
  operator std::string_view() const noexcept {
    return view();
  }  // NOLINT(google-explicit-constructor)

  friend bool operator==(const Name& a, const Name& b) noexcept { return a.view() == b.view(); }
  friend bool operator==(const Name& a, std::string_view b) noexcept { return a.view() == b; }
  friend bool operator==(const Name& a, const char* b) noexcept {
    return a.view() == std::string_view(b);
  }
  friend std::strong_ordering operator<=>(const Name& a, const Name& b) noexcept {
    return a.view() <=> b.view();
  }

 private:
  using Shared = std::shared_ptr<const std::string>;
  static constexpr std::uint8_t kShared = 0xFF;  // instead of the size of what is inside

  [[nodiscard]] const Shared& shared() const noexcept {
    return *std::launder(reinterpret_cast<const Shared*>(storage_.data()));
  }
  [[nodiscard]] Shared& shared() noexcept {
    return *std::launder(reinterpret_cast<Shared*>(storage_.data()));
  }
  // These three find the name empty.
  void share(Shared text) noexcept {
    new (storage_.data()) Shared(std::move(text));
    size_ = kShared;
  }
  void copy(const Name& other) noexcept {
    if (other.size_ == kShared) return share(other.shared());
    storage_ = other.storage_;
    size_ = other.size_;
  }
  void take(Name& other) noexcept {
    if (other.size_ == kShared) {
      share(std::move(other.shared()));
    } else {
      storage_ = other.storage_;
      size_ = other.size_;
    }
    other.clear();
  }
  void clear() noexcept {
    if (size_ == kShared) std::destroy_at(&shared());
    size_ = 0;
  }

  // The characters, or a `Shared`.
  alignas(Shared) std::array<std::byte, kInline> storage_{};
  std::uint8_t size_ = 0;
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
