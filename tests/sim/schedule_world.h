#pragma once

#include <cstdint>
#include <string>

#include "muster/engine/schedule/schedule_options.h"

namespace muster::sim {

/// What a run of the scheduler's simulation is made of; everything else follows from the seed.
struct SchedulePlan {
  std::uint64_t seed = 1;
  int workers = 5;
  int sessions = 2;
  int tasks = 60;        ///< per graph
  double faults = 0.02;  ///< chance of a crash, a silence, a join … per step of 10 ms
  bool poison = false;   ///< one task kills every worker that starts it
  bool cancels = true;   ///< clients cancel graphs
  bool restarts = true;  ///< the scheduler is replaced by its journal's replay now and then
  bool exodus = false;   ///< all workers leave at once
  engine::ScheduleFaults bugs;
};

struct ScheduleOutcome {
  std::string violation;  ///< empty if all rules held
  std::uint64_t runs = 0;
  std::uint64_t crashes = 0;
  std::uint64_t silences = 0;
  std::uint64_t joins = 0;
  std::uint64_t departures = 0;
  std::uint64_t evictions = 0;
  std::uint64_t restarts = 0;
  std::uint64_t cancellations = 0;
  std::uint64_t late = 0;  ///< outcomes of tasks that had been done by others
  std::uint64_t events = 0;
  double scheduler_seconds = 0;
};

/// Runs sessions with random graphs on simulated workers until all graphs ended and everything was
/// released. Chunks hold hashes of their inputs, so that a wrong one is seen.
[[nodiscard]] ScheduleOutcome run_schedule(const SchedulePlan& plan);

}  // namespace muster::sim
