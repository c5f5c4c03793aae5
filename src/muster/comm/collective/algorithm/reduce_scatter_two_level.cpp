// Reduce-scatter of two levels (teams.h), for r ranks on each of h hosts and m bytes in n blocks:
// reduced to the leader of each host, reduce-scatter of the leaders over the blocks of their hosts,
// scattered in the hosts. Blocks may differ in size.
//
// Rounds: 2 log2 r, and between the leaders 1, or log2 h when m is large or hosts are many, and two
// more when h is no power of two. m · (h-1)/h bytes cross per host, however many ranks it has; with
// log2 h rounds, the hosts beyond a power of two send m.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/teams.h"

namespace muster::comm::collective {
namespace {

// With more, a message to and from each takes longer than log2 h rounds.
constexpr std::size_t kFewHosts = 16;

}  // namespace

Schedule reduce_scatter_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, -1);
  const Blocks all = blocks(call, place.size);
  const std::size_t mine = teams.leads() ? all.total() : 0;
  const std::size_t reduced = teams.host().ranks.size() > 1 ? mine : 0;
  Call whole = call;
  whole.count = all.total() / item_size(call.element);
  Builder builder;
  const Region source = input(call, 0, all.total());
  const Region combined = reduce_in_host(builder, whole, teams, source, builder.scratch(reduced));
  // The leaders bring the blocks into the order of hosts.
  const Region held = builder.scratch(mine);
  if (teams.leads())
    for (const auto& [by_rank, by_host] : both_orders(teams, all, combined, held))
      builder.copy(by_host, by_rank);
  const Call between = between_hosts(call, Operation::reduce_scatter, teams);
  const bool direct = all.total() < kLargeBetweenHosts && teams.hosts.size() <= kFewHosts;
  embed(builder, direct ? reduce_scatter_direct : reduce_scatter_recursive_halving, between,
        teams.leaders, held, held);
  scatter_in_host(builder, call, teams, held,
                  output(0, all.bytes(static_cast<std::size_t>(place.rank))));
  return builder.take();
}

}  // namespace muster::comm::collective
