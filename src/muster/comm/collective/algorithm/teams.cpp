#include "muster/comm/collective/algorithm/teams.h"

#include <algorithm>

#include "muster/comm/collective/algorithm/algorithms.h"

namespace muster::comm::collective {
namespace {

std::size_t items_of(const Call& call, int rank) {
  return call.counts.empty() ? call.count : call.counts[static_cast<std::size_t>(rank)];
}

}  // namespace

int Team::index_of(int rank) const {
  const auto at = std::find(ranks.begin(), ranks.end(), rank);
  return at == ranks.end() ? -1 : static_cast<int>(at - ranks.begin());
}

Teams teams_of(const Place& place, int root) {
  Teams teams;
  std::vector<int> seen;
  for (int rank = 0; rank < place.size; ++rank) {
    const int host = place.hosts[static_cast<std::size_t>(rank)];
    const auto at =
        static_cast<std::size_t>(std::find(seen.begin(), seen.end(), host) - seen.begin());
    if (at == seen.size()) {
      seen.push_back(host);
      teams.hosts.emplace_back();
    }
    std::vector<int>& ranks = teams.hosts[at].ranks;
    ranks.insert(rank == root ? ranks.begin() : ranks.end(), rank);
    if (rank == place.rank) teams.own = at;
  }
  for (Team& host : teams.hosts) {
    host.self = host.index_of(place.rank);
    teams.leaders.ranks.push_back(host.ranks.front());
  }
  teams.leaders.self = teams.leaders.index_of(place.rank);
  return teams;
}

Call part_of(const Call& call, Operation operation, bool in_place) {
  static constexpr std::byte kAnywhere{};
  Call part = call;
  part.operation = operation;
  part.root = 0;
  part.input = &kAnywhere;
  part.output = in_place ? const_cast<std::byte*>(&kAnywhere) : nullptr;
  return part;
}

Call between_hosts(const Call& call, Operation operation, const Teams& teams) {
  Call part = part_of(call, operation, true);
  part.variable = true;
  part.counts.clear();
  for (const Team& host : teams.hosts) {
    std::size_t items = 0;
    for (const int rank : host.ranks) items += items_of(call, rank);
    part.counts.push_back(items);
  }
  return part;
}

std::vector<BothOrders> both_orders(const Teams& teams, const Blocks& all, const Region& by_rank,
                                    const Region& by_host) {
  std::vector<BothOrders> result;
  std::size_t at = 0;
  for (const Team& host : teams.hosts) {
    for (const int rank : host.ranks) {
      const Region one = block(by_rank, all, rank);
      if (!result.empty() && result.back().by_rank.end() == one.offset) {
        result.back().by_rank.bytes += one.bytes;
        result.back().by_host.bytes += one.bytes;
      } else {
        result.push_back({one, by_host.part(at, one.bytes)});
      }
      at += one.bytes;
    }
  }
  return result;
}

void embed(Builder& builder, Algorithm algorithm, const Call& call, const Team& team,
           const Region& from, const Region& into) {
  if (team.works()) builder.embed(algorithm(call, team.place()), team.ranks, from, into);
}

Region reduce_in_host(Builder& builder, const Call& call, const Teams& teams, const Region& source,
                      const Region& result) {
  if (teams.host().ranks.size() == 1) return source;
  const bool same = source == result;
  embed(builder, reduce_binomial, part_of(call, Operation::reduce, same), teams.host(), source,
        result);
  return result;
}

void gather_in_host(Builder& builder, const Call& call, const Teams& teams, const Region& own,
                    const Region& held) {
  if (teams.leads()) builder.copy(held.part(0, own.bytes), own);
  embed(builder, gather_binomial, part_of(call, Operation::gather, teams.leads()), teams.host(),
        own, held);
}

void scatter_in_host(Builder& builder, const Call& call, const Teams& teams, const Region& held,
                     const Region& own) {
  Call part = part_of(call, Operation::scatter, teams.leads());
  part.counts.clear();
  if (call.variable)
    for (const int rank : teams.host().ranks) part.counts.push_back(items_of(call, rank));
  const Region& base = teams.leads() ? held : own;
  embed(builder, call.variable ? scatter_linear : scatter_binomial, part, teams.host(), base, base);
  if (teams.leads()) builder.copy(own, held.part(0, own.bytes));
}

}  // namespace muster::comm::collective
