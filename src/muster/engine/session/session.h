#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/engine/execute/run_control.h"
#include "muster/engine/graph/tensor.h"
#include "muster/engine/session/options.h"
#include "muster/engine/session/view.h"
#include "muster/engine/value/memory.h"

namespace muster::engine {

class ThreadPool;

struct SessionOptions {
  /// Threads that run kernels; 0 for one per processor that this process may use.
  std::size_t threads = 0;
  /// Bytes that chunks may take; 0 for 80 % of the memory of the machine or its cgroup.
  std::size_t memory = 0;
  Options options = {};
};

/// Computes tensors in this process. Thread-safe; executions run one after the other. Results stay
/// with their tensors and outlive the session.
class Session {
 public:
  explicit Session(SessionOptions options = {});
  ~Session();

  /// Computes these and keeps them with the tensors. Throws ArrayError.
  void execute(const std::vector<Tensor>& tensors) { execute(tensors, options_.options); }
  void execute(const Tensor& tensor) { execute(std::vector<Tensor>{tensor}); }
  void execute(const std::vector<Tensor>& tensors, const Options& options,
               RunControl* control = nullptr);

  /// The items of a tensor, which is executed first if it was not. Without a copy if it is one
  /// chunk.
  [[nodiscard]] Array fetch(const Tensor& tensor);
  /// Likewise, as C++ values; times are int64. Throws ArrayError (type) if the items are of another
  /// type.
  template <class T>
  [[nodiscard]] View<T> fetch(const Tensor& tensor) {
    return View<T>(fetch_as(tensor, kTypeOf<T>));
  }

  [[nodiscard]] std::size_t threads() const;
  [[nodiscard]] Memory& memory() { return *memory_; }

 private:
  [[nodiscard]] Array fetch_as(const Tensor& tensor, Type type);

  SessionOptions options_;
  std::shared_ptr<Memory> memory_;
  std::unique_ptr<ThreadPool> pool_;
};

}  // namespace muster::engine
