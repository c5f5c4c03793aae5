#include "muster/service/scheduler/cluster_stored.h"

#include <fmt/format.h>

#include "muster/engine/errors.h"

namespace muster::service {

engine::Array ClusterStored::chunk(std::size_t number) const {
  throw engine::ArrayError(engine::Wrong::other,
                           fmt::format("chunk {} is on a worker, not in the scheduler",
                                       number < chunks_.size() ? chunks_[number] : number));
}

}  // namespace muster::service
