#pragma once

#include <string>

#include "muster/engine/errors.h"

namespace muster::service {

/// The process that ran a function ended, did not answer in time or could not be started: another
/// attempt, or another worker, may fare better. What the function itself raises is a plain
/// ArrayError.
class PythonProcessLost : public engine::ArrayError {
 public:
  explicit PythonProcessLost(const std::string& message)
      : ArrayError(engine::Wrong::other, message) {}
};

}  // namespace muster::service
