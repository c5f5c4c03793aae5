#include "muster/comm/collective/algorithm/teams.h"

#include <algorithm>

#include "muster/comm/collective/algorithm/algorithms.h"

namespace muster::comm::collective {

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

}  // namespace muster::comm::collective
