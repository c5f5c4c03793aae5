// Reduce of two levels (teams.h), for r ranks on each of h hosts and m bytes: within the hosts,
// then between the leaders, of which the root is one.
//
// Rounds: log2 r + log2 h; more between the leaders when m is large, for fewer bytes. m bytes cross
// h - 1 times.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/teams.h"

namespace muster::comm::collective {

Schedule reduce_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, call.root);
  const std::size_t bytes = count_bytes(call);
  const bool root = place.rank == call.root;
  Builder builder;
  const Region source = root ? input(call, 0, bytes) : Region{Space::input, 0, bytes};
  const Region result = root ? output(0, bytes) : builder.scratch(teams.leads() ? bytes : 0);
  const Region combined = reduce_in_host(builder, call, teams, source, result);
  if (!teams.leads()) return builder.take();
  Call between = part_of(call, Operation::reduce, combined == result);
  between.root = teams.leaders.index_of(call.root);
  const bool large = bytes >= kLargeBetweenHosts && teams.leaders.ranks.size() > 2;
  embed(builder, large ? reduce_rabenseifner : reduce_binomial, between, teams.leaders, combined,
        result);
  return builder.take();
}

}  // namespace muster::comm::collective
