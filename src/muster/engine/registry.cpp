#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/register.h"

namespace muster::engine {

const Registry& registry() {
  static const Registry kRegistry = [] {
    Registry all;
    register_creation_operators(all);
    register_elementwise_operators(all);
    register_reduction_operators(all);
    register_shape_operators(all);
    register_joining_operators(all);
    register_indexing_operators(all);
    register_sorting_operators(all);
    register_statistics_operators(all);
    register_linalg_operators(all);
    register_random_operators(all);
    register_fft_operators(all);
    register_special_operators(all);
    register_python_operators(all);
    return all;
  }();
  return kRegistry;
}

}  // namespace muster::engine
