#include "muster/service/worker/worker_python.h"

#include <utility>

#include "muster/service/python/pooled_function.h"
#include "muster/service/python/python_pool.h"

namespace muster::service {

Result<WorkerPython> pooled_python(const WorkerOptions& options,
                                   std::shared_ptr<engine::ChunkStore> store) {
  PythonPoolOptions chosen;
  chosen.python = options.python;
  chosen.processes = options.python_processes > 0 ? options.python_processes : options.threads;
  chosen.store = std::move(store);
  chosen.process.most_memory = options.python_memory;
  if (options.python_idle > Duration::zero()) chosen.idle_limit = options.python_idle;
  auto pool = PythonPool::make(chosen);
  if (!pool) return fail(pool.error());
  return WorkerPython{pooled_function(*pool),
                      [pool = *pool](std::thread::id thread) { pool->cancel(thread); },
                      [pool = *pool] { pool->stop(); }, [pool = *pool] { return pool->stats(); }};
}

}  // namespace muster::service
