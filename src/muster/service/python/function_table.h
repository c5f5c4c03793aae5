#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "muster/base/buffer.h"

namespace muster::service {

/// A function as the tasks of a worker share it.
struct SharedFunction {
  std::uint64_t id = 0;  ///< never used again
  std::string name;
  Buffer pickled;
};

/// Finds functions that came before, so that each is sent to a process once and not with every
/// task. Functions are forgotten with the last task that has them. Thread-safe.
class FunctionTable {
 public:
  [[nodiscard]] std::shared_ptr<const SharedFunction> shared(std::string name, Buffer pickled);

 private:
  void forget_unused();

  std::mutex mutex_;
  std::unordered_multimap<std::size_t, std::weak_ptr<const SharedFunction>> known_;  ///< by hash
  std::uint64_t next_ = 1;
  std::size_t look_again_ = 64;  ///< entries at which those without owner are removed
};

}  // namespace muster::service
