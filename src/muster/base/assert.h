#pragma once

namespace muster::detail {

[[noreturn]] void assertion_failed(const char* condition, const char* why, const char* file,
                                   int line);

}  // namespace muster::detail

/// Stops the process when Muster itself is wrong. Never reachable from input: input gets a `Result`
/// or an exception.
#define MUSTER_ASSERT(condition, why)                                          \
  do {                                                                         \
    if (!(condition)) [[unlikely]] {                                           \
      ::muster::detail::assertion_failed(#condition, why, __FILE__, __LINE__); \
    }                                                                          \
  } while (false)
