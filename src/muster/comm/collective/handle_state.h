#pragma once

#include <string>
#include <string_view>

#include "muster/base/result.h"
#include "muster/comm/collective/handle.h"

namespace muster::comm {

/// What is behind a handle: a call on one of the planes.
class Handle::State {
 public:
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  virtual ~State() = default;

  [[nodiscard]] virtual std::string_view group() const = 0;  ///< its name
  virtual Result<void> wait(Timeout timeout) = 0;
  virtual Result<bool> test() = 0;
  virtual void cancel() = 0;
};

/// What everything of a group says in a child process.
[[nodiscard]] Error inherited_error(const std::string& group);

}  // namespace muster::comm
