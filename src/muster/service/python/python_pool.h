#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/storage/chunk_store.h"
#include "muster/runtime/fd.h"
#include "muster/service/python/function_call.h"
#include "muster/service/python/function_table.h"
#include "muster/service/python/python_process.h"

namespace muster::service {

struct PythonPoolOptions {
  std::string python{};       ///< the interpreter; else $MUSTER_PYTHON, else python3
  std::size_t processes = 0;  ///< at most; 0: one for each core
  /// Chunks that lie here are not copied to the processes; may be absent.
  std::shared_ptr<const engine::ChunkStore> store{};
  std::optional<Duration> call_limit{};  ///< longest time of one call
  /// A process that ran nothing for so long ends; nothing: it stays.
  std::optional<Duration> idle_limit{};
  std::size_t most_output = 0;     ///< bytes of one call's results; 0: what the store can hold
  PythonProcessOptions process{};  ///< `interpreter` is set by the pool
};

struct PythonPoolStats {
  std::size_t processes = 0;
  std::size_t most = 0;    ///< that there may be
  std::size_t busy = 0;    ///< calls that have a process, or are starting one
  std::size_t memory = 0;  ///< bytes that they have for themselves
  std::uint64_t calls = 0;
  std::uint64_t raised = 0;    ///< calls that ended with an exception of the function
  std::uint64_t lost = 0;      ///< processes that died, or were killed, during a call
  std::uint64_t recycled = 0;  ///< processes that were replaced because they were worn
  std::uint64_t retired = 0;   ///< processes that ended because there was nothing to do
};

/// Runs Python functions in processes of their own, which are started when they are needed and
/// replaced when they die. A call has its process for itself; more calls than processes wait.
/// Thread-safe.
class PythonPool {
 public:
  /// Starts no process yet: a worker without Python serves everything else.
  [[nodiscard]] static Result<std::shared_ptr<PythonPool>> make(const PythonPoolOptions& options);
  ~PythonPool();
  PythonPool(const PythonPool&) = delete;
  PythonPool& operator=(const PythonPool&) = delete;

  /// Calls the function on the inputs and sets the outputs. Throws ArrayError for what the function
  /// raises, with its traceback, when it is cancelled or takes longer than it may, and
  /// PythonProcessLost where another attempt makes sense.
  void call(const SharedFunction& function, engine::KernelContext& context);
  /// Ends the call that a thread makes, if it makes one.
  void cancel(std::thread::id thread);
  /// Ends all calls and processes; later calls fail. Called by the destructor.
  void stop();

  [[nodiscard]] FunctionTable& functions() { return functions_; }
  [[nodiscard]] PythonPoolStats stats() const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Process = std::unique_ptr<PythonProcess>;
  struct Idle {
    Process process;
    TimePoint since;
  };
  /// A call from its beginning to its end.
  struct Call {
    PythonProcess* process = nullptr;  ///< alive while it is named here
    bool cancelled = false;
  };
  class Entry;
  class Reachable;

  PythonPool(const PythonPoolOptions& options, FileDescriptor arena);
  [[nodiscard]] Process take(const SharedFunction& function);
  [[nodiscard]] Process start();
  void check(const Call& call, const SharedFunction& function) const;
  [[nodiscard]] Result<Frame> converse(Call& call, PythonProcess& process,
                                       const SharedFunction& function,
                                       engine::KernelContext& context);
  [[noreturn]] void bury(Process process, const Call& call, const SharedFunction& function,
                         const Error& error);
  void give_back(Process process);
  void retire(const std::stop_token& stop);

  const PythonPoolOptions options_;
  const std::size_t most_;
  const FileDescriptor arena_;  ///< invalid without a store
  ProcessSpawner spawner_;
  FunctionTable functions_;

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::condition_variable_any idled_;  ///< for the thread that ends those which are idle
  std::vector<Idle> idle_;             ///< longest idle first
  std::map<std::thread::id, Call> calls_;
  std::size_t busy_ = 0;
  bool stopped_ = false;
  PythonPoolStats counts_;

  std::jthread retiring_;  ///< where there is a limit
};

}  // namespace muster::service
