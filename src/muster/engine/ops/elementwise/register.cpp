#include "muster/engine/ops/register.h"

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/elementwise/arithmetic.h"
#include "muster/engine/ops/elementwise/comparison.h"
#include "muster/engine/ops/elementwise/complex_parts.h"
#include "muster/engine/ops/elementwise/composed.h"
#include "muster/engine/ops/elementwise/conversion.h"
#include "muster/engine/ops/elementwise/division.h"
#include "muster/engine/ops/elementwise/elementwise.h"
#include "muster/engine/ops/elementwise/exponential.h"
#include "muster/engine/ops/elementwise/floating_point.h"
#include "muster/engine/ops/elementwise/logic.h"
#include "muster/engine/ops/elementwise/rounding.h"
#include "muster/engine/ops/elementwise/trigonometry.h"

namespace muster::engine {

void register_elementwise_operators(Registry& registry) {
  register_elementwise(registry);
  register_arithmetic(registry);
  register_comparison(registry);
  register_complex_parts(registry);
  register_composed(registry);
  register_conversion(registry);
  register_division(registry);
  register_exponential(registry);
  register_floating_point(registry);
  register_logic(registry);
  register_rounding(registry);
  register_trigonometry(registry);
}

}  // namespace muster::engine
