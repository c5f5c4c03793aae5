#pragma once

#include <span>

#include "muster/engine/execute/run_control.h"
#include "muster/engine/execute/thread_pool.h"
#include "muster/engine/tile/chunk_graph.h"

namespace muster::engine {

/// Throws ArrayError when the run was cancelled or is late, and whatever `on_wait` throws.
void check_run(RunControl& control);

/// Runs the tasks that certain chunks need, on all threads of the pool. Each thread goes depth
/// first through what its own tasks made ready, so that chunks are read soon after they are made,
/// then takes from the fresh ones, then steals. A task starts when its results fit into the memory
/// budget, or nothing else runs. Chunks without readers are dropped at once.
///
/// The first failure stops the rest and is thrown as ComputeError; so are cancellation and a passed
/// deadline, as ArrayError.
void run_tasks(ChunkGraph& graph, std::span<const ChunkRef> wanted, ThreadPool& pool,
               Memory& memory, RunControl& control);

}  // namespace muster::engine
