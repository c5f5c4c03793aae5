#include "muster/engine/optimise/fold_constants.h"
#include "muster/engine/optimise/fuse_elementwise.h"
#include "muster/engine/optimise/fuse_sources.h"
#include "muster/engine/optimise/plan.h"
#include "muster/engine/optimise/push_slices.h"
#include "muster/engine/optimise/remove_dead.h"
#include "muster/engine/optimise/share_subexpressions.h"

namespace muster::engine {

const std::vector<Pass>& passes() {
  static const std::vector<Pass> kPasses = {
      {"fold_constants", "operators on single numbers are computed while planning", fold_constants},
      {"share_subexpressions", "what is written twice is computed once", share_subexpressions},
      {"push_slices", "slices move towards the sources", push_slices},
      {"remove_dead", "what nobody reads is not computed", remove_dead},
      {"fuse_elementwise", "chains of element-wise operators become one pass over memory",
       fuse_elementwise},
      {"fuse_sources", "random numbers are made where they are read", fuse_sources},
  };
  return kPasses;
}

}  // namespace muster::engine
