#pragma once

#include <string>

#include "muster/base/buffer.h"
#include "muster/engine/graph/python_function.h"
#include "muster/engine/wire/values.h"

namespace muster::service {

/// A Python function on its way: bytes that nobody looks into. What the scheduler keeps.
class PickledFunction : public engine::PythonFunction {
 public:
  PickledFunction(std::string name, Buffer pickled);

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Buffer pickled() const override { return pickled_; }
  /// Throws ArrayError (other): only workers run functions.
  void call(engine::KernelContext& context) const override;

 private:
  std::string name_;
  Buffer pickled_;
};

/// For readers that pass functions on. Untrusted sessions get an empty one instead, which makes the
/// readers refuse.
[[nodiscard]] engine::MakeFunction pickled_functions();

}  // namespace muster::service
