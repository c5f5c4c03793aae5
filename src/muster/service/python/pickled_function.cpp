#include "muster/service/python/pickled_function.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"

namespace muster::service {

PickledFunction::PickledFunction(std::string name, Buffer pickled)
    : name_(std::move(name)), pickled_(std::move(pickled)) {}

void PickledFunction::call(engine::KernelContext& /*context*/) const {
  throw engine::ArrayError(engine::Wrong::other,
                           fmt::format("'{}' can be called by workers only", name_));
}

engine::MakeFunction pickled_functions() {
  return [](std::string name, Buffer pickled) -> std::shared_ptr<const engine::PythonFunction> {
    return std::make_shared<PickledFunction>(std::move(name), std::move(pickled));
  };
}

}  // namespace muster::service
