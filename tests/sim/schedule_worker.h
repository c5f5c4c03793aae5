#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "muster/engine/schedule/action.h"

namespace muster::sim {

[[nodiscard]] constexpr std::uint64_t key(engine::ChunkId chunk) {
  return std::uint64_t{chunk.session.value()} << 32 | chunk.index;
}

/// A worker in the simulated world, and what the scheduler was told of it.
struct SimWorker {
  bool alive = true;
  bool frozen = false;
  bool leaving = false;
  std::uint32_t id = 0;
  std::uint32_t threads = 1;
  std::uint64_t budget = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> store;  ///< values by chunk
  std::deque<engine::RunTask> queue;
  std::map<std::uint64_t, engine::TaskId> running;  ///< by attempt
  std::vector<std::function<void()>> deferred;      ///< until it thaws
  std::int64_t last_to = 0;                         ///< messages on a connection arrive in order
  std::int64_t last_from = 0;
  std::uint64_t connection = 0;

  // As the scheduler has to see it.
  bool is_member = true;
  std::unordered_map<std::uint64_t, std::uint64_t> known;     ///< bytes by chunk
  std::unordered_map<std::uint64_t, std::uint64_t> coming;    ///< bytes by chunk
  std::unordered_map<std::uint64_t, std::uint64_t> promised;  ///< bytes by attempt
  std::uint64_t used = 0;                                     ///< the sum of these
};

}  // namespace muster::sim
