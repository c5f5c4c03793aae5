// Allreduce of two levels (teams.h), for r ranks on each of h hosts and m bytes: reduced to the
// leader of each host, allreduce between the leaders, broadcast within the hosts.
//
// Rounds: 2 log2 r + log2 h, or 2 log2 h when m is large, and then 2m · (h-1)/h cross per host.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/teams.h"

namespace muster::comm::collective {

Schedule allreduce_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, -1);
  const std::size_t bytes = count_bytes(call);
  const Region result = output(0, bytes);
  Builder builder;
  const Region combined = reduce_in_host(builder, call, teams, input(call, 0, bytes), result);
  const Call between = part_of(call, Operation::allreduce, combined == result);
  const bool large = bytes >= kLargeBetweenHosts;
  embed(builder, large ? allreduce_rabenseifner : allreduce_recursive_doubling, between,
        teams.leaders, combined, result);
  embed(builder, broadcast_binomial, part_of(call, Operation::broadcast, true), teams.host(),
        result, result);
  return builder.take();
}

}  // namespace muster::comm::collective
