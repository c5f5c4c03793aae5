#include "muster/engine/ops/register.h"

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/fft/transform.h"

namespace muster::engine {

void register_fft_operators(Registry& registry) { register_transforms(registry); }

}  // namespace muster::engine
