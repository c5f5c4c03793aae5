#pragma once

#include <cstddef>
#include <string>

#include "muster/engine/storage/chunk_store.h"
#include "muster/service/python/python_pool.h"
#include "muster/service/worker/counters.h"

namespace muster::service {

/// What a worker is doing now.
struct WorkerGauges {
  std::size_t threads = 0;
  std::size_t tasks = 0;             ///< ordered, not ended
  std::size_t waiting_for_room = 0;  ///< tasks that wait for memory
  std::size_t fetching = 0;          ///< chunks on their way
  bool registered = false;
  PythonPoolStats python{};
};

/// Both as Prometheus text.
[[nodiscard]] std::string metrics_text(const WorkerCounters& counters, const WorkerGauges& gauges,
                                       const engine::StoreStats& store, std::size_t bytes_on_disk);

}  // namespace muster::service
