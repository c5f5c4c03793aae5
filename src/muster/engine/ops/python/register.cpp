#include "muster/engine/ops/register.h"

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/python/call_function.h"
#include "muster/engine/ops/python/function_kernel.h"
#include "muster/engine/ops/python/map_chunk.h"

namespace muster::engine {

void register_python_operators(Registry& registry) {
  register_function_kernel(registry);
  register_map_chunk(registry);
  register_call_function(registry);
}

}  // namespace muster::engine
