#pragma once

#include <cstdint>

namespace muster::engine {

/// Bugs to be switched on by the simulation, which must find them.
struct ScheduleFaults {
  bool forget_ready_readers = false;  ///< a lost chunk leaves ready tasks ready
  bool forget_running_tasks = false;  ///< a lost worker's tasks are not given to others
  bool keep_read_chunks = false;      ///< the last reader does not free its inputs
  bool admit_always = false;          ///< memory budgets are ignored
};

/// Times in nanoseconds.
struct ScheduleOptions {
  std::uint32_t queue_depth = 2;  ///< tasks a worker gets beyond its threads
  /// Times that many while tasks are short: as many as take `queue_time` together, so that a worker
  /// does not wait for messages.
  std::uint32_t queue_growth = 32;
  std::int64_t queue_time = 1'000'000;
  std::uint32_t most_deaths = 3;    ///< workers a task may take along before its graph fails
  std::uint32_t most_failures = 3;  ///< retryable failures of one task; the next one is final
  /// Before a task that failed so is tried again, four times as long after each: memory that was
  /// short is so for a while.
  std::int64_t retry_pause = 100'000'000;
  std::uint32_t most_misses = 3;  ///< failed fetches before the holder is disbelieved
  std::int64_t move_byte = 1;     ///< per byte that moves between workers
  std::int64_t move_start = 100'000;
  std::int64_t first_mean = 1'000'000;  ///< a task's time before any was measured
  std::int64_t straggler_least = 1'000'000'000;
  std::uint32_t straggler_factor = 4;   ///< times the operator's mean
  std::uint32_t straggler_samples = 4;  ///< tasks of the operator that have to be measured first
  ScheduleFaults faults;
};

}  // namespace muster::engine
