// All-to-all of two levels (teams.h), for r ranks on each of h hosts, n ranks and blocks of b
// bytes: gathered to the leader of each host, a message for each pair of hosts, scattered in the
// hosts.
//
// Rounds: 2 log2 r + 1. As many bytes cross as in any all-to-all, n · (h-1)/h · b for each rank,
// but each host sends h - 1 messages, not r · (n-r). The leader passes on r · n · b bytes, twice;
// to put them in order it makes at most 2n copies of many rows each, and about n where the ranks of
// a host follow each other.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/teams.h"

namespace muster::comm::collective {
namespace {

/// How far from each other the ranks of a host lie, if all by as much; else 0.
std::size_t distance(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return 1;
  const int step = ranks[1] - ranks[0];
  for (std::size_t i = 2; i < ranks.size(); ++i)
    if (ranks[i] - ranks[i - 1] != step) return 0;
  return static_cast<std::size_t>(step);
}

/// Packs what the ranks of the leader's host give: `held` has them one after the other, each with
/// its blocks for all ranks; `packed` has, host by host, the same givers with their blocks for the
/// ranks there.
void pack(Builder& builder, const Teams& teams, const Blocks& all, const Region& held,
          const Region& packed) {
  const std::size_t one = all.bytes(0);
  const std::size_t givers = teams.host().ranks.size();
  std::size_t start = 0;
  for (const Team& host : teams.hosts) {
    const std::size_t takers = host.ranks.size();
    const std::size_t together = distance(host.ranks) == 1 ? takers : 1;
    for (std::size_t i = 0; i < takers; i += together) {
      const Region from =
          block(held, all, host.ranks[i], host.ranks[i] + static_cast<int>(together));
      builder.copy(packed.part(start + i * one, from.bytes), from,
                   {givers, takers * one, all.total()});
    }
    start += givers * takers * one;
  }
}

/// Unpacks what they get: `packed` has, host by host, the givers there with their blocks for the
/// ranks of the leader's host; `held` has those one after the other, each with its blocks from all
/// ranks.
void unpack(Builder& builder, const Teams& teams, const Blocks& all, const Region& packed,
            const Region& held) {
  const std::size_t one = all.bytes(0);
  const std::size_t takers = teams.host().ranks.size();
  std::size_t start = 0;
  for (const Team& host : teams.hosts) {
    const std::size_t givers = host.ranks.size();
    const std::size_t step = distance(host.ranks);
    const auto into = [&](std::size_t taker, std::size_t giver) {
      return block(held.part(taker * all.total(), all.total()), all, host.ranks[giver]);
    };
    // The fewer copies; where it can be helped, what is written lies close together, and what is
    // read lies apart.
    if (step != 0 && takers <= givers)
      for (std::size_t i = 0; i < takers; ++i)
        builder.copy(into(i, 0), packed.part(start + i * one, one),
                     {givers, step * one, takers * one});
    else
      for (std::size_t i = 0; i < givers; ++i)
        builder.copy(into(0, i), packed.part(start + i * takers * one, one),
                     {takers, all.total(), one});
    start += givers * takers * one;
  }
}

}  // namespace

Schedule all_to_all_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, -1);
  const Blocks all = blocks(call, place.size);
  const std::size_t own = teams.host().ranks.size();
  Call in_host = call;
  in_host.count = call.count * all.size();
  Call between =
      part_of(between_hosts(call, Operation::all_to_all, teams), Operation::all_to_all, false);
  for (std::size_t& count : between.counts) count *= own;
  Builder builder;
  // Of these two, each step reads one and writes the other. If all ranks are on one host, they do
  // not differ once packed, so it is the same that nothing is exchanged.
  const Region one = builder.scratch(teams.leads() ? own * all.total() : 0);
  const Region other = builder.scratch(one.bytes);
  gather_in_host(builder, in_host, teams, input(call, 0, all.total()), one);
  if (teams.leads()) pack(builder, teams, all, one, other);
  embed(builder, all_to_all_linear, between, teams.leaders, other, one);
  if (teams.leads()) unpack(builder, teams, all, one, other);
  scatter_in_host(builder, in_host, teams, other, output(0, all.total()));
  return builder.take();
}

}  // namespace muster::comm::collective
