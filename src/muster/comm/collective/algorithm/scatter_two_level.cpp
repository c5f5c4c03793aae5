// Scatter of two levels (teams.h), for r ranks on each of h hosts and blocks of b bytes: the root
// sends each of the other leaders the blocks of its host, which scatters them there.
//
// Rounds: 1 + log2 r, and a copy at the root. Each block crosses at most once, in h - 1 messages.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/teams.h"

namespace muster::comm::collective {

Schedule scatter_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, call.root);
  const bool root = place.rank == call.root;
  const Blocks all = blocks(call, place.size);
  const Region source = input(call, 0, root ? all.total() : 0);
  Call between = between_hosts(call, Operation::scatter, teams);
  between.root = teams.leaders.index_of(call.root);
  const Blocks of_hosts = blocks(between, static_cast<int>(teams.hosts.size()));
  Builder builder;
  // The leaders keep the blocks host by host.
  std::size_t kept = teams.leads() ? of_hosts.bytes(teams.own) : 0;
  if (root) kept = all.total();
  const Region held = builder.scratch(kept);
  const Region of_host = root ? block(held, of_hosts, static_cast<int>(teams.own)) : held;
  // In place, the root's own block already lies where it belongs.
  const std::size_t one = count_bytes(call);
  const Region own = root && call.in_place() ? of_host.part(0, one) : output(0, one);
  if (root)
    for (const auto& [by_rank, by_host] : both_orders(teams, all, source, held))
      builder.copy(by_host, by_rank);
  embed(builder, scatter_linear, between, teams.leaders, held, held);
  scatter_in_host(builder, call, teams, of_host, own);
  return builder.take();
}

}  // namespace muster::comm::collective
