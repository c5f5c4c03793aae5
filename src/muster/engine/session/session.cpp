#include "muster/engine/session/session.h"

#include <chrono>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/execute/executor.h"
#include "muster/engine/execute/thread_pool.h"
#include "muster/engine/optimise/plan.h"
#include "muster/engine/session/stored_chunks.h"
#include "muster/engine/tile/tiler.h"
#include "muster/runtime/resources.h"

namespace muster::engine {
namespace {

/// How often those who wait for a graph to be tiled are asked whether they still want it.
constexpr auto kLook = std::chrono::milliseconds(50);

}  // namespace

Session::Session(SessionOptions options) : options_(std::move(options)) {
  if (options_.threads == 0) options_.threads = usable_processors();
  if (options_.memory == 0) options_.memory = usable_memory() / 5 * 4;
  memory_ = Memory::make(options_.memory);
  pool_ = std::make_unique<ThreadPool>(options_.threads);
}

Session::~Session() = default;

std::size_t Session::threads() const { return pool_->size(); }

void Session::execute(const std::vector<Tensor>& tensors, const Options& options,
                      RunControl* control) {
  RunControl own;
  RunControl& watched = control == nullptr ? own : *control;
  Plan plan = make_plan(tensors);
  (void)optimise(plan, options);

  ChunkGraph graph;
  graph.watch([&, next = RunControl::Clock::now()]() mutable {
    const auto now = RunControl::Clock::now();
    if (now < next && !watched.cancelled()) return;
    next = now + kLook;
    check_run(watched);
  });
  const RunStage run = [&](ChunkGraph& chunks, std::span<const ChunkRef> wanted) {
    run_tasks(chunks, wanted, *pool_, *memory_, watched);
  };
  Options here = options;
  here.threads = pool_->size();
  here.memory_per_thread = memory_->limit() / pool_->size();
  std::vector<Tiled> results = tile_plan(plan, graph, here, run);
  std::vector<ChunkRef> wanted;
  for (const Tiled& result : results)
    wanted.insert(wanted.end(), result.chunks.begin(), result.chunks.end());
  run(graph, wanted);

  for (std::size_t i = 0; i < tensors.size(); ++i) {
    learn_sizes(graph, results[i]);
    std::vector<Array> chunks;
    for (const ChunkRef chunk : results[i].chunks)
      chunks.push_back(graph.tasks()[chunk.task].results[chunk.output]);
    tensors[i].node()->keep(
        tensors[i].output(),
        std::make_shared<StoredChunks>(tensors[i].dtype(), results[i].splits, std::move(chunks)));
  }
}

Array Session::fetch(const Tensor& tensor) {
  auto stored = tensor.node()->stored(tensor.output());
  if (!stored) {
    execute(tensor);
    stored = tensor.node()->stored(tensor.output());
  }
  return assemble(*stored, *memory_);
}

Array Session::fetch_as(const Tensor& tensor, Type type) {
  const DType dtype = tensor.dtype();
  const Type stored = is_time(dtype.type) ? Type::i64 : dtype.type;
  if (stored != type)
    wrong_type(fmt::format("[fetch] the items are {}, not {}", name(dtype), name(DType(type))));
  return fetch(tensor).contiguous(*memory_);
}

}  // namespace muster::engine
