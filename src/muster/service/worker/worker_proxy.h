#pragma once

#include "muster/base/result.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/service/role.h"

namespace muster::service {

/// Joins the group of the roles as a worker; returns when the scheduler is there. Of several
/// schedulers in the options, the first that answers is taken.
[[nodiscard]] Result<comm::Proxy> join_as_worker(const WorkerOptions& options);

}  // namespace muster::service
