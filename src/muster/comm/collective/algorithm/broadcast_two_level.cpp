// Broadcast of two levels (teams.h), for r ranks on each of h hosts and m bytes: between the
// leaders, of which the root is one, then within the hosts.
//
// Rounds: log2 h + log2 r; more between the leaders when m is large, for fewer bytes. m bytes cross
// h - 1 times.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/teams.h"

namespace muster::comm::collective {

Schedule broadcast_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, call.root);
  const std::size_t bytes = count_bytes(call);
  const bool root = place.rank == call.root;
  Builder builder;
  builder.round();
  if (root) builder.copy(output(0, bytes), input(call, 0, bytes));
  Call part = part_of(call, Operation::broadcast, true);
  Call between = part;
  between.root = teams.leaders.index_of(call.root);
  const bool large = bytes >= kLargeBetweenHosts && teams.leaders.ranks.size() > 2;
  embed(builder, large ? broadcast_scatter_allgather : broadcast_binomial, between, teams.leaders,
        output(0, bytes), output(0, bytes));
  embed(builder, broadcast_binomial, part, teams.host(), output(0, bytes), output(0, bytes));
  return builder.take();
}

}  // namespace muster::comm::collective
