#include "muster/engine/ops/register.h"

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/creation/diagonal.h"
#include "muster/engine/ops/creation/full.h"
#include "muster/engine/ops/creation/ranges.h"
#include "muster/engine/ops/creation/triangle.h"

namespace muster::engine {

void register_creation_operators(Registry& registry) {
  register_constant(registry);
  register_full(registry);
  register_ranges(registry);
  register_triangles(registry);
  register_diagonals(registry);
}

}  // namespace muster::engine
