#include "muster/engine/ops/python/function_kernel.h"

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/graph/python_function.h"

namespace muster::engine {

namespace {

void run(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const auto function = attributes.get<std::shared_ptr<const PythonFunction>>("function");
  const std::vector<DType> dtypes = dtypes_of(attributes);
  function->call(context);
  for (std::size_t output = 0; output < dtypes.size(); ++output) {
    const Array& array = context.outputs()[output];
    if (array.dtype() != dtypes[output])
      wrong_type(fmt::format("'{}' gave items of dtype {} instead of {}", function->name(),
                             name(array.dtype()), name(dtypes[output])));
    if (attributes.has("shape") && array.shape() != attributes.get<Ints>("shape"))
      wrong_value(fmt::format("'{}' gave an array of shape {} instead of {}", function->name(),
                              text(array.shape()), text(attributes.get<Ints>("shape"))));
    if (attributes.has("ndim") &&
        array.ndim() != static_cast<std::size_t>(attributes.get<std::int64_t>("ndim")))
      wrong_value(fmt::format("'{}' gave an array of {} axes instead of {}", function->name(),
                              array.ndim(), attributes.get<std::int64_t>("ndim")));
  }
}
constexpr KernelRow kKernel{"function", run};

}  // namespace

const KernelRow& function_kernel() { return kKernel; }

std::vector<DType> dtypes_of(const Attributes& attributes) {
  std::vector<DType> dtypes;
  for (const Attribute& each : attributes.get<List>("dtypes")) {
    const auto* const dtype = std::get_if<DType>(&each.value);
    if (dtype == nullptr) wrong_type("the parameter 'dtypes' is a list of dtypes");
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

void register_function_kernel(Registry& registry) { registry.add(kKernel); }

}  // namespace muster::engine
