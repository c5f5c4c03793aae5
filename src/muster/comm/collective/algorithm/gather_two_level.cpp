// Gather of two levels (teams.h), for r ranks on each of h hosts and blocks of b bytes:
// scatter_two_level backwards. Gathered to the leader of each host, and from the leaders to the
// root, which is one of them.
//
// Rounds: log2 r + 1, and a copy at the root. Each block crosses at most once, in h - 1 messages.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/teams.h"

namespace muster::comm::collective {

Schedule gather_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, call.root);
  const bool root = place.rank == call.root;
  const Blocks all = blocks(call, place.size);
  const std::size_t one = count_bytes(call);
  const Region target = output(0, root ? all.total() : 0);
  const Region own =
      root && call.in_place() ? block(target, all, place.rank) : Region{Space::input, 0, one};
  Call between = between_hosts(call, Operation::gather, teams);
  between.root = teams.leaders.index_of(call.root);
  const Blocks of_hosts = blocks(between, static_cast<int>(teams.hosts.size()));
  Builder builder;
  // The leaders keep the blocks host by host.
  std::size_t kept = teams.leads() ? of_hosts.bytes(teams.own) : 0;
  if (root) kept = all.total();
  const Region held = builder.scratch(kept);
  const Region of_host = root ? block(held, of_hosts, static_cast<int>(teams.own)) : held;
  gather_in_host(builder, call, teams, own, of_host);
  embed(builder, gather_linear, between, teams.leaders, held, held);
  if (root)
    for (const auto& [by_rank, by_host] : both_orders(teams, all, target, held))
      builder.copy(by_rank, by_host);
  return builder.take();
}

}  // namespace muster::comm::collective
