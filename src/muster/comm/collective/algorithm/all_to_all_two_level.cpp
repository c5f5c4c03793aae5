// All-to-all of two levels (teams.h), for r ranks on each of h hosts, n ranks and blocks of b
// bytes: gathered to the leader of each host, a message for each pair of hosts, scattered in the
// hosts.
//
// Rounds: 2 log2 r + 1. As many bytes cross as in any all-to-all, n · (h-1)/h · b for each rank,
// but each host sends h - 1 messages, not r · (n-r). The leader passes on r · n · b bytes, twice.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/teams.h"

namespace muster::comm::collective {
namespace {

/// Where the leader has a block that a rank of its host gives to another rank, and later the one
/// that it gets from that rank.
struct Passage {
  Region held;
  Region outgoing;
  Region incoming;
};

/// `held` has the ranks of the host one after the other, `packed` the hosts, and for each host the
/// givers one after the other.
std::vector<Passage> passages(const Teams& teams, const Blocks& all, const Region& held,
                              const Region& packed) {
  const std::size_t one = all.bytes(0);
  const std::size_t own = teams.host().ranks.size();
  std::vector<Passage> result;
  std::size_t start = 0;
  for (const Team& host : teams.hosts) {
    const std::size_t others = host.ranks.size();
    for (std::size_t i = 0; i < own; ++i)
      for (std::size_t k = 0; k < others; ++k)
        result.push_back({block(held.part(i * all.total(), all.total()), all, host.ranks[k]),
                          packed.part(start + (i * others + k) * one, one),
                          packed.part(start + (k * own + i) * one, one)});
    start += own * others * one;
  }
  return result;
}

}  // namespace

Schedule all_to_all_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, -1);
  const Blocks all = blocks(call, place.size);
  const std::size_t own = teams.host().ranks.size();
  Call in_host = call;
  in_host.count = call.count * all.size();
  Builder builder;
  const Region held = builder.scratch(teams.leads() ? own * all.total() : 0);
  const Region packed = builder.scratch(held.bytes);
  std::vector<Passage> passed;
  if (teams.leads()) passed = passages(teams, all, held, packed);
  gather_in_host(builder, in_host, teams, input(call, 0, all.total()), held);
  for (const Passage& passage : passed) builder.copy(passage.outgoing, passage.held);
  Call between = between_hosts(call, Operation::all_to_all, teams);
  for (std::size_t& count : between.counts) count *= own;
  embed(builder, all_to_all_linear, between, teams.leaders, packed, packed);
  for (const Passage& passage : passed) builder.copy(passage.held, passage.incoming);
  scatter_in_host(builder, in_host, teams, held, output(0, all.total()));
  return builder.take();
}

}  // namespace muster::comm::collective
