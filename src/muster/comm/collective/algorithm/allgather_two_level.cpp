// Allgather of two levels (teams.h), for r ranks on each of h hosts and m bytes in all: gathered to
// the leader of each host, exchanged by the leaders, broadcast of the whole within the hosts.
//
// Rounds: 2 log2 r + 1, or 2 log2 r + h - 1 when m is large. Each block crosses h - 1 times.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/teams.h"

namespace muster::comm::collective {
namespace {

// Below, a message to each other leader at once costs less than as many rounds. The built-in table
// has a ring of all ranks from there on, so only another table comes to this.
constexpr std::size_t kRingBetweenHosts = std::size_t{256} << 10;

}  // namespace

Schedule allgather_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, -1);
  const Blocks all = blocks(call, place.size);
  const Region target = output(0, all.total());
  const Region mine = block(target, all, place.rank);
  const Region own = call.in_place() ? mine : Region{Space::input, 0, mine.bytes};
  const Call between = between_hosts(call, Operation::allgather, teams);
  const Blocks of_hosts = blocks(between, static_cast<int>(teams.hosts.size()));
  Builder builder;
  // The leaders keep the blocks host by host, and put them in the order of ranks before they pass
  // them on.
  const Region held = builder.scratch(teams.leads() ? all.total() : 0);
  const Region of_host = teams.leads() ? block(held, of_hosts, static_cast<int>(teams.own)) : held;
  gather_in_host(builder, call, teams, own, of_host);
  const bool large = all.total() >= kRingBetweenHosts;
  embed(builder, large ? allgather_ring : allgather_linear, between, teams.leaders, held, held);
  if (teams.leads())
    for (const auto& [by_rank, by_host] : both_orders(teams, all, target, held))
      builder.copy(by_rank, by_host);
  Call down = part_of(call, Operation::broadcast, true);
  down.count = call.count * static_cast<std::size_t>(place.size);
  embed(builder, broadcast_binomial, down, teams.host(), target, target);
  return builder.take();
}

}  // namespace muster::comm::collective
