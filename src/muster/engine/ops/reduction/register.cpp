#include "muster/engine/ops/register.h"

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/reduction/arg.h"
#include "muster/engine/ops/reduction/extremes.h"
#include "muster/engine/ops/reduction/product.h"
#include "muster/engine/ops/reduction/reduce.h"
#include "muster/engine/ops/reduction/scan.h"
#include "muster/engine/ops/reduction/sum.h"
#include "muster/engine/ops/reduction/truth.h"
#include "muster/engine/ops/reduction/variance.h"

namespace muster::engine {

void register_reduction_operators(Registry& registry) {
  register_reduce_kernels(registry);
  register_sum(registry);
  register_product(registry);
  register_extremes(registry);
  register_truth(registry);
  register_variance(registry);
  register_arg(registry);
  register_scan(registry);
}

}  // namespace muster::engine
