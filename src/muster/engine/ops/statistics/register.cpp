#include "muster/engine/ops/register.h"

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/statistics/counting.h"
#include "muster/engine/ops/statistics/histogram.h"
#include "muster/engine/ops/statistics/joined_counts.h"
#include "muster/engine/ops/statistics/quantile.h"

namespace muster::engine {

void register_statistics_operators(Registry& registry) {
  register_join_counts(registry);
  register_counting(registry);
  register_histogram(registry);
  register_quantile(registry);
}

}  // namespace muster::engine
