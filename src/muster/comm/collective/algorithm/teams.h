#pragma once

#include <cstddef>
#include <vector>

#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

// What the algorithms of two levels share. They are for ranks on h hosts, several on one: what
// crosses between hosts crosses once per host. Each host has a leader: its lowest rank, but the
// root of a rooted operation leads its own host. Within a host the ranks work with their leader by
// the tree algorithms, between hosts the leaders work with each other by the algorithm that suits
// the size.

/// Below this, latency counts more than bytes.
inline constexpr std::size_t kLargeBetweenHosts = std::size_t{32} << 10;

/// Some of the ranks, as a group of their own.
struct Team {
  std::vector<int> ranks;
  int self = -1;  ///< among them

  [[nodiscard]] bool works() const { return self >= 0 && ranks.size() > 1; }
  [[nodiscard]] Place place() const { return {self, static_cast<int>(ranks.size()), {}}; }
  /// -1 when it is not one of them.
  [[nodiscard]] int index_of(int rank) const;
};

struct Teams {
  std::vector<Team> hosts;  ///< in the order of their lowest rank; the leader comes first
  std::size_t own = 0;      ///< the rank's own host
  Team leaders;

  [[nodiscard]] const Team& host() const { return hosts[own]; }
  [[nodiscard]] bool leads() const { return leaders.self >= 0; }
};

/// `root` leads its host; -1 for none.
[[nodiscard]] Teams teams_of(const Place& place, int root);

/// The same call for a team: only its shape counts, so the buffers only tell whether it is in
/// place.
[[nodiscard]] Call part_of(const Call& call, Operation operation, bool in_place);

/// What the leaders do with blocks among each other, in place: one block of each host, in which the
/// blocks of its ranks lie one after the other.
[[nodiscard]] Call between_hosts(const Call& call, Operation operation, const Teams& teams);

/// Where blocks lie that are neighbours in the order of ranks as well as host by host.
struct BothOrders {
  Region by_rank;
  Region by_host;
};
/// Of all blocks.
[[nodiscard]] std::vector<BothOrders> both_orders(const Teams& teams, const Blocks& all,
                                                  const Region& by_rank, const Region& by_host);

/// Adds what the rank does in the team's part, if it is one of several in it.
void embed(Builder& builder, Algorithm algorithm, const Call& call, const Team& team,
           const Region& from, const Region& into);

/// The reduction within the host, to its leader. Returns where the leader has the result.
[[nodiscard]] Region reduce_in_host(Builder& builder, const Call& call, const Teams& teams,
                                    const Region& source, const Region& result);

/// The ranks' own blocks to `held` of their leader, one after the other.
void gather_in_host(Builder& builder, const Call& call, const Teams& teams, const Region& own,
                    const Region& held);
/// Back: each rank's own block out of `held` of its leader. Blocks may differ in size.
void scatter_in_host(Builder& builder, const Call& call, const Teams& teams, const Region& held,
                     const Region& own);

}  // namespace muster::comm::collective
