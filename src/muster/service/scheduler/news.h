#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "muster/engine/schedule/ids.h"

namespace muster::service {

/// What happened, for those who draw it: bounded, the oldest go first when nobody fetches it in
/// time. Thread-safe.
class News {
 public:
  enum class Kind : std::uint8_t {
    started,
    finished,
    failed,
    memory,
    joined,
    silent,
    leaving,
    lost
  };
  struct Item {
    Kind kind = Kind::started;
    engine::WorkerId worker;
    engine::TaskId task{};
    std::uint64_t attempt = 0;
    std::uint64_t bytes = 0;  ///< made; of memory: spilled
    std::uint32_t thread = 0;
    std::int64_t started = 0;  ///< nanoseconds since 1970
    std::int64_t ended = 0;
    std::string text{};  ///< name of the worker, or why the task failed
  };

  explicit News(std::size_t most = 4096) : most_(most) {}

  /// While nobody listens, nothing is kept.
  void listen(bool wanted);
  [[nodiscard]] bool wanted() const;
  void add(Item item);
  /// JSON lines of what was added since the last call; nothing if that is nothing. Says first how
  /// many were dropped.
  [[nodiscard]] std::optional<std::string> take();

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  bool wanted_ = false;
  std::deque<Item> items_;
  std::uint64_t dropped_ = 0;
};

}  // namespace muster::service
