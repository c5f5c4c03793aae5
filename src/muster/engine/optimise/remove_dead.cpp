#include "muster/engine/optimise/remove_dead.h"

namespace muster::engine {

int remove_dead(Plan& plan) {
  const std::size_t before = plan.steps.size();
  put_in_order(plan);
  return static_cast<int>(before - plan.steps.size());
}

}  // namespace muster::engine
