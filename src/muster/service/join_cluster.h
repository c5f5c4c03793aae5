#pragma once

#include "muster/base/result.h"
#include "muster/comm/proxy/options.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/service/role.h"

namespace muster::service {

/// Joins the group of the roles and returns when the scheduler is there. Of several schedulers in
/// the role's options, the first that answers is taken. `proxy` says as whom; all that roles have
/// in common is set here. The failure says what to do.
[[nodiscard]] Result<comm::Proxy> join_cluster(const RoleOptions& role, comm::ProxyOptions proxy);

}  // namespace muster::service
