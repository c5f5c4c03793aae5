#pragma once

#include <string>

#include "muster/base/buffer.h"

namespace muster::engine {

class KernelContext;

/// A function of the user's language that works on chunks. The engine knows no Python; the binding
/// derives from this.
class PythonFunction {
 public:
  virtual ~PythonFunction() = default;
  /// For messages: its name.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Itself as bytes that another process can unpickle. Throws ArrayError (type) where it has no
  /// such form.
  [[nodiscard]] virtual Buffer pickled() const = 0;
  /// Reads the inputs and sets the outputs. Called from any thread.
  virtual void call(KernelContext& context) const = 0;
};

}  // namespace muster::engine
