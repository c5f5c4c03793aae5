#pragma once

#include <memory>

#include "muster/engine/wire/values.h"
#include "muster/service/python/python_pool.h"

namespace muster::service {

/// For readers of tasks on a worker: functions that run in the processes of the pool. Nothing is
/// unpickled in this process.
[[nodiscard]] engine::MakeFunction pooled_function(std::shared_ptr<PythonPool> pool);

}  // namespace muster::service
