#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muster/cluster/job/spec.h"

namespace muster::cluster {

// Decides which jobs start now and on which nodes. Pure: the same input gives the same plan, and
// whoever calls it starts what the plan says and calls again when something has changed.
//
// - A job starts with all its instances or not at all (a gang).
// - Jobs are taken in the order in which they were submitted. A level of priority is worth a time
//   of waiting (`PlannerOptions::ageing`): a job counts as submitted `priority * ageing` earlier
//   than it was. So the order of two jobs never changes, only finitely many later jobs go before
//   an earlier one, and low priority does not starve.
// - The first job that could run on these nodes but finds no room now gets a reservation: the
//   places where it would be put if nothing ran. Jobs behind it start (backfill) only as far as
//   they leave that part of each node alone, so once what ran before has ended it does fit. The
//   reservation depends on nothing but the nodes and the job, so it stays where it is from call to
//   call without being stored. The job starts as soon as it fits anywhere.
// - A job that would not fit if nothing ran holds up nobody; its reason says what is too much.
//
// Balanced placement puts each instance where most of the metric is free, compacted where least
// is free but enough of everything; of equal nodes, the one with fewest instances (balanced) or
// most (compacted), then the first in the list. Components that take most of the metric are placed
// first.

struct PlannerNode {
  std::string name;
  Resources total;              ///< what jobs may have of it when nothing runs
  Resources used;               ///< what running and starting instances hold
  std::uint32_t instances = 0;  ///< how many those are
};

struct PlannerComponent {
  std::string name;  ///< for reasons only
  std::uint32_t num = 1;
  Resources each;
};

struct PlannerJob {
  std::string name;
  std::chrono::milliseconds submitted{0};  ///< on any clock that all jobs share
  std::int32_t priority = 0;
  Allocation allocation;
  std::vector<PlannerComponent> components;  ///< in the order of the JobSpec
};

struct PlannerOptions {
  std::optional<std::uint32_t> max_jobs{};  ///< that run at once; `parallel_level`
  std::uint32_t running_jobs = 0;           ///< that count against it
  std::chrono::milliseconds ageing{60'000};
};

/// Where one instance goes; `component` and `node` are positions in the input.
struct Placement {
  std::uint32_t component = 0;
  std::uint32_t index = 0;  ///< of the instance within its component
  std::uint32_t node = 0;

  friend bool operator==(const Placement&, const Placement&) = default;
};

struct JobStart {
  std::uint32_t job = 0;              ///< position in the input
  std::vector<Placement> placements;  ///< one per instance, by component and index

  friend bool operator==(const JobStart&, const JobStart&) = default;
};

enum class WaitCause {
  no_slot,  ///< as many jobs run as may
  no_room,  ///< not enough is free; this job has the reservation
  behind,   ///< not enough is free beside what is kept for the job with the reservation
  never,    ///< it would not fit even if nothing ran
};

struct JobWait {
  std::uint32_t job = 0;
  WaitCause cause = WaitCause::no_room;
  /// For people: "component 'actor' needs 2 cpu each: 3 of 4 instances fit into what is free"
  std::string reason;

  friend bool operator==(const JobWait&, const JobWait&) = default;
};

struct Plan {
  std::vector<JobStart> starts;  ///< in the order in which to start them
  std::vector<JobWait> waits;    ///< in the order in which they wait

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// What the planner needs to know of a job.
PlannerJob planner_job(const JobSpec& spec, std::chrono::milliseconds submitted);

Plan plan(const std::vector<PlannerNode>& nodes, const std::vector<PlannerJob>& jobs,
          const PlannerOptions& options = {});

}  // namespace muster::cluster
