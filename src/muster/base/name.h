#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace muster {

/// An immutable text that is cheap to copy: peer names, types and tags travel in every message, and
/// a reference count costs less than a copy of the characters. Thread-safe to copy and read.
class Name {
 public:
  Name() = default;
  Name(std::string_view text) : text_(make(text)) {}  // NOLINT(google-explicit-constructor)
  Name(const std::string& text)
      : Name(std::string_view(text)) {}                     // NOLINT(google-explicit-constructor)
  Name(const char* text) : Name(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] std::string_view view() const noexcept {
    return text_ ? std::string_view(*text_) : std::string_view();
  }
  [[nodiscard]] std::string str() const { return std::string(view()); }
  [[nodiscard]] bool empty() const noexcept { return !text_; }
  [[nodiscard]] std::size_t size() const noexcept { return view().size(); }
  operator std::string_view() const noexcept {
    return view();
  }  // NOLINT(google-explicit-constructor)

  friend bool operator==(const Name& a, const Name& b) noexcept {
    return a.text_ == b.text_ || a.view() == b.view();
  }
  friend bool operator==(const Name& a, std::string_view b) noexcept { return a.view() == b; }
  friend bool operator==(const Name& a, const char* b) noexcept {
    return a.view() == std::string_view(b);
  }
  friend std::strong_ordering operator<=>(const Name& a, const Name& b) noexcept {
    return a.view() <=> b.view();
  }

 private:
  static std::shared_ptr<const std::string> make(std::string_view text) {
    return text.empty() ? nullptr : std::make_shared<const std::string>(text);
  }

  std::shared_ptr<const std::string> text_;  // null for the empty name
};

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
