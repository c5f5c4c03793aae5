#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "muster/base/result.h"
#include "muster/engine/storage/chunk_store.h"
#include "muster/engine/wire/values.h"
#include "muster/service/python/python_pool.h"
#include "muster/service/role.h"

namespace muster::service {

/// What runs the Python functions of a worker.
struct WorkerPython {
  engine::MakeFunction make_function;             ///< called from any thread
  std::function<void(std::thread::id)> cancel{};  ///< ends what a thread runs; may be absent
  std::function<void()> stop{};                   ///< ends all that runs; may be absent
  std::function<PythonPoolStats()> stats{};       ///< may be absent
};

/// Called once, when the worker's store is open.
using MakePython = std::function<Result<WorkerPython>(const WorkerOptions& options,
                                                      std::shared_ptr<engine::ChunkStore> store)>;

/// Processes of the interpreter that the options name, started when a function comes.
[[nodiscard]] Result<WorkerPython> pooled_python(const WorkerOptions& options,
                                                 std::shared_ptr<engine::ChunkStore> store);

}  // namespace muster::service
