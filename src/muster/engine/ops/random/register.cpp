#include "muster/engine/ops/register.h"

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/random/choice.h"
#include "muster/engine/ops/random/rows.h"
#include "muster/engine/ops/random/sample.h"

namespace muster::engine {

void register_random_operators(Registry& registry) {
  random::register_sample(registry);
  random::register_rows(registry);
  random::register_choice(registry);
}

}  // namespace muster::engine
