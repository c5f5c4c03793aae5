#pragma once

#include "muster/comm/collective/schedule.h"

namespace muster::comm::collective {

// One function per file of the same name. All expect at least two ranks; `mean` is a sum to them.

[[nodiscard]] Schedule barrier_dissemination(const Call& call, const Place& place);

[[nodiscard]] Schedule broadcast_binomial(const Call& call, const Place& place);
[[nodiscard]] Schedule broadcast_scatter_allgather(const Call& call, const Place& place);

[[nodiscard]] Schedule scatter_binomial(const Call& call, const Place& place);
[[nodiscard]] Schedule scatter_linear(const Call& call, const Place& place);

[[nodiscard]] Schedule gather_binomial(const Call& call, const Place& place);
[[nodiscard]] Schedule gather_linear(const Call& call, const Place& place);

[[nodiscard]] Schedule reduce_binomial(const Call& call, const Place& place);
[[nodiscard]] Schedule reduce_rabenseifner(const Call& call, const Place& place);

[[nodiscard]] Schedule allreduce_recursive_doubling(const Call& call, const Place& place);
[[nodiscard]] Schedule allreduce_ring(const Call& call, const Place& place);
[[nodiscard]] Schedule allreduce_rabenseifner(const Call& call, const Place& place);

[[nodiscard]] Schedule allgather_ring(const Call& call, const Place& place);
[[nodiscard]] Schedule allgather_bruck(const Call& call, const Place& place);
[[nodiscard]] Schedule allgather_linear(const Call& call, const Place& place);

[[nodiscard]] Schedule reduce_scatter_direct(const Call& call, const Place& place);
[[nodiscard]] Schedule reduce_scatter_ring(const Call& call, const Place& place);
[[nodiscard]] Schedule reduce_scatter_recursive_halving(const Call& call, const Place& place);

[[nodiscard]] Schedule all_to_all_linear(const Call& call, const Place& place);
[[nodiscard]] Schedule all_to_all_pairwise(const Call& call, const Place& place);
[[nodiscard]] Schedule all_to_all_bruck(const Call& call, const Place& place);

// These need `place.hosts`.
[[nodiscard]] Schedule barrier_two_level(const Call& call, const Place& place);
[[nodiscard]] Schedule broadcast_two_level(const Call& call, const Place& place);
[[nodiscard]] Schedule scatter_two_level(const Call& call, const Place& place);
[[nodiscard]] Schedule gather_two_level(const Call& call, const Place& place);
[[nodiscard]] Schedule reduce_two_level(const Call& call, const Place& place);
[[nodiscard]] Schedule allreduce_two_level(const Call& call, const Place& place);
[[nodiscard]] Schedule allgather_two_level(const Call& call, const Place& place);
[[nodiscard]] Schedule reduce_scatter_two_level(const Call& call, const Place& place);
[[nodiscard]] Schedule all_to_all_two_level(const Call& call, const Place& place);

}  // namespace muster::comm::collective
