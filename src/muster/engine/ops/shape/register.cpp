#include "muster/engine/ops/register.h"

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/shape/axes.h"
#include "muster/engine/ops/shape/broadcast.h"
#include "muster/engine/ops/shape/rechunk.h"
#include "muster/engine/ops/shape/reshape.h"

namespace muster::engine {

void register_shape_operators(Registry& registry) {
  register_axes(registry);
  register_reshape(registry);
  register_broadcast(registry);
  register_rechunk(registry);
}

}  // namespace muster::engine
