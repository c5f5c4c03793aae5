#include "muster/engine/ops/register.h"

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/indexing/along_axis.h"
#include "muster/engine/ops/indexing/choose.h"
#include "muster/engine/ops/indexing/gather.h"
#include "muster/engine/ops/indexing/mask.h"
#include "muster/engine/ops/indexing/slice.h"

namespace muster::engine {

void register_indexing_operators(Registry& registry) {
  register_slices(registry);
  register_gather(registry);
  register_masks(registry);
  register_choose(registry);
  register_along_axis(registry);
}

}  // namespace muster::engine
