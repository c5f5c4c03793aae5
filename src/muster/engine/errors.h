#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace muster::engine {

/// What went wrong with an array expression. Python raises the exception of the same name.
enum class Wrong {
  value,
  type,
  index,
  zero_division,
  linalg,
  memory,
  overflow,
  cancelled,
  timeout,
  other
};

/// The caller asked for something that cannot be: the message names the operation and the values,
/// as in "[matmul] inner sizes differ: 3 and 4". Also thrown by kernels, where the data decides.
class ArrayError : public std::runtime_error {
 public:
  ArrayError(Wrong wrong, const std::string& message)
      : std::runtime_error(message), wrong_(wrong) {}
  [[nodiscard]] Wrong wrong() const noexcept { return wrong_; }

 private:
  Wrong wrong_;
};

/// A kernel failed: says on which chunk of which operator and where in the user's program that
/// operator was made. `cause` is what the kernel threw.
class ComputeError : public ArrayError {
 public:
  ComputeError(Wrong wrong, const std::string& message, std::exception_ptr cause)
      : ArrayError(wrong, message), cause_(std::move(cause)) {}
  [[nodiscard]] const std::exception_ptr& cause() const noexcept { return cause_; }

 private:
  std::exception_ptr cause_;
};

[[noreturn]] void wrong_value(const std::string& message);
[[noreturn]] void wrong_type(const std::string& message);
[[noreturn]] void wrong_index(const std::string& message);

}  // namespace muster::engine
