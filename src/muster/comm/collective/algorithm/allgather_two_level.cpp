// Allgather of two levels (teams.h), for r ranks on each of h hosts and m bytes in all: gathered to
// the leader of each host, a ring of the leaders, broadcast of the whole within the hosts.
//
// Rounds: 2 log2 r + h - 1. Each block crosses h - 1 times.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/teams.h"

namespace muster::comm::collective {

Schedule allgather_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, -1);
  const Blocks all = blocks(call, place.size);
  const Region target = output(0, all.total());
  const Region own = block(target, all, place.rank);
  const Region source = call.in_place() ? own : Region{Space::input, 0, own.bytes};
  Builder builder;
  // The leaders keep the blocks host by host, and put them in the order of ranks before they pass
  // them on.
  const Region held = builder.scratch(teams.leads() ? all.total() : 0);
  std::vector<std::size_t> counts;
  std::vector<std::size_t> starts;
  std::size_t start = 0;
  for (const Team& host : teams.hosts) {
    counts.push_back(call.count * host.ranks.size());
    starts.push_back(start);
    start += counts.back() * item_size(call.element);
  }
  const Region of_host =
      teams.leads() ? held.part(starts[teams.own], counts[teams.own] * item_size(call.element))
                    : held;
  builder.round();
  if (teams.leads()) builder.copy(of_host.part(0, source.bytes), source);
  embed(builder, gather_binomial, part_of(call, Operation::gather, teams.leads()), teams.host(),
        source, of_host);
  Call between = part_of(call, Operation::allgather, true);
  between.variable = true;
  between.counts = counts;
  embed(builder, allgather_ring, between, teams.leaders, held, held);
  if (teams.leads())
    for (std::size_t h = 0; h < teams.hosts.size(); ++h)
      for (std::size_t i = 0; i < teams.hosts[h].ranks.size(); ++i)
        builder.copy(block(target, all, teams.hosts[h].ranks[i]),
                     held.part(starts[h] + i * source.bytes, source.bytes));
  Call down = part_of(call, Operation::broadcast, true);
  down.count = call.count * static_cast<std::size_t>(place.size);
  embed(builder, broadcast_binomial, down, teams.host(), target, target);
  return builder.take();
}

}  // namespace muster::comm::collective
