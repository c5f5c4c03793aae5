#pragma once

#include <string>
#include <system_error>

namespace muster {

/// The category of one module's error codes: its name, and a sentence for each code. Every module
/// has one object of it, since categories are told apart by their addresses.
template <class Errc>
class ErrorCategory final : public std::error_category {
 public:
  using Text = const char* (*)(Errc);
  /// `name` outlives the category.
  ErrorCategory(const char* name, Text text) : name_(name), text_(text) {}

  [[nodiscard]] const char* name() const noexcept override { return name_; }
  [[nodiscard]] std::string message(int value) const override {
    return text_(static_cast<Errc>(value));
  }

 private:
  const char* name_;
  Text text_;
};

}  // namespace muster
