#include "muster/engine/ops/register.h"

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/sorting/first_places.h"
#include "muster/engine/ops/sorting/sets.h"
#include "muster/engine/ops/sorting/sort.h"
#include "muster/engine/ops/sorting/topk.h"
#include "muster/engine/ops/sorting/unique.h"

namespace muster::engine {

void register_sorting_operators(Registry& registry) {
  register_sort(registry);
  register_unique(registry);
  register_first_places(registry);
  register_sets(registry);
  register_topk(registry);
}

}  // namespace muster::engine
