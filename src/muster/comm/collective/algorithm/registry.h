#pragma once

#include <span>
#include <string_view>

#include "muster/comm/collective/schedule.h"

namespace muster::comm::collective {

/// One algorithm for one operation: what the choice table, `muster collectives`, tests and docs
/// read.
struct AlgorithmRow {
  Operation operation;
  std::string_view name;
  std::string_view summary;  ///< rounds, and bytes that a rank sends, for n ranks and m bytes
  Algorithm make;
  bool ordered = true;       ///< combines in the order of ranks, whatever the reduction
  bool variable = false;     ///< takes different counts
  bool needs_hosts = false;  ///< needs to know the hosts of the ranks
};

/// All of them; those of one operation stand together, one that takes every call first.
[[nodiscard]] std::span<const AlgorithmRow> algorithm_rows();
/// Null when there is none of that name.
[[nodiscard]] const AlgorithmRow* find_algorithm(Operation operation, std::string_view name);
/// Whether the algorithm can run this call.
[[nodiscard]] bool takes(const AlgorithmRow& row, const Call& call, const Place& place);
/// The schedule of a call that the algorithm takes, to the end: also for one rank, and with the
/// division of `mean`.
[[nodiscard]] Schedule build(const AlgorithmRow& row, const Call& call, const Place& place);

}  // namespace muster::comm::collective
