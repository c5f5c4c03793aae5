#include "muster/comm/driver/ucx/load.h"
#include "muster/comm/errc.h"

namespace muster::comm {

bool ucx_built() { return false; }

Result<UcxOpen> load_ucx() {
  return fail(Errc::driver_type,
              "unavailable, because Muster was built without libucx: install libucx-dev, configure "
              "with MUSTER_WITH_UCX=ON and build again, or use another driver");
}

}  // namespace muster::comm
