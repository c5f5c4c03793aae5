#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <tl/expected.hpp>

namespace muster {

/// An expected failure: a code that programs test, and a sentence for people that names what
/// failed, with the values. Each module has its own `Errc` enumeration, registered as a
/// `std::error_code` category.
class Error {
 public:
  Error(std::error_code code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] const std::error_code& code() const noexcept { return code_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }

  /// True if this is `errc` of the module that declared it.
  template <class Errc>
  [[nodiscard]] bool is(Errc errc) const {
    return code_ == make_error_code(errc);
  }

  /// The same failure with what the caller was doing put before it: "join group 'train': connection
  /// refused".
  [[nodiscard]] Error within(std::string_view doing) const {
    return {code_, std::string(doing) + ": " + message_};
  }

 private:
  std::error_code code_;
  std::string message_;
};

/// A value, or the expected failure that prevented it.
template <class T>
using Result = tl::expected<T, Error>;

/// Makes the failing side of a `Result`: `return fail(Errc::timeout, "no reply from 'actor_1'
/// within 3 s");`
template <class Errc>
[[nodiscard]] tl::unexpected<Error> fail(Errc errc, std::string message) {
  return tl::unexpected<Error>(Error(make_error_code(errc), std::move(message)));
}

/// Passes a failure on.
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

/// The failure of a system call: "open '/run/x': permission denied".
[[nodiscard]] Error system_error(int error_number, std::string_view doing);

}  // namespace muster
