// Two levels, for ranks on h hosts, several on one: what crosses between hosts crosses once per
// host.
//
// Each host has a leader: its lowest rank, but the root of a rooted operation leads its own host.
// Within a host the ranks work with their leader by the tree algorithms, between hosts the leaders
// work with each other by the algorithm that suits the size.
//
// barrier    gather to the leader, dissemination, broadcast   rounds: about 2 log2 r + log2 h, r
// ranks per host broadcast  leaders, then hosts                              m bytes cross h - 1
// times reduce     hosts, then leaders                              m bytes cross h - 1 times
// allreduce  reduce in hosts, leaders, broadcast in hosts     2m · (h-1)/h cross per host
// allgather  gather in hosts, leaders, broadcast in hosts     each block crosses h - 1 times

#include <algorithm>

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {
namespace {

// Below this, latency counts more than bytes.
constexpr std::size_t kLargeBytes = std::size_t{32} << 10;

/// Some of the ranks, as a group of their own.
struct Team {
  std::vector<int> ranks;
  int self = -1;  ///< among them

  [[nodiscard]] bool works() const { return self >= 0 && ranks.size() > 1; }
  [[nodiscard]] Place place() const { return {self, static_cast<int>(ranks.size()), {}}; }
  [[nodiscard]] int index_of(int rank) const {
    const auto at = std::find(ranks.begin(), ranks.end(), rank);
    return at == ranks.end() ? -1 : static_cast<int>(at - ranks.begin());
  }
};

struct Teams {
  std::vector<Team> hosts;  ///< in the order of their lowest rank; the leader comes first
  std::size_t own = 0;      ///< the rank's own host
  Team leaders;

  [[nodiscard]] const Team& host() const { return hosts[own]; }
  [[nodiscard]] bool leads() const { return leaders.self >= 0; }
};

/// `root` leads its host; -1 for none.
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

/// The same call for a team: only its shape counts, so the buffers only tell whether it is in
/// place.
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

/// One byte up to the leader, or down from it: a barrier has no other items.
Call token(Operation operation) {
  Call call;
  call.operation = operation;
  call.count = 1;
  return part_of(call, operation, true);
}

/// The reduction within the host, to its leader. Returns where the leader has the result.
Region reduce_in_host(Builder& builder, const Call& call, const Teams& teams, const Region& source,
                      const Region& result) {
  if (teams.host().ranks.size() == 1) return source;
  const bool same = source == result;
  embed(builder, reduce_binomial, part_of(call, Operation::reduce, same), teams.host(), source,
        result);
  return result;
}

}  // namespace

Schedule barrier_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, -1);
  Builder builder;
  const Region byte = builder.scratch(1);
  // The value does not matter, but a sum would read memory that nobody wrote, so blocks are
  // gathered.
  const Region bytes = builder.scratch(teams.host().ranks.size());
  embed(builder, gather_binomial, part_of(token(Operation::gather), Operation::gather, false),
        teams.host(), byte, bytes);
  embed(builder, barrier_dissemination, call, teams.leaders, byte, byte);
  embed(builder, broadcast_binomial, token(Operation::broadcast), teams.host(), byte, byte);
  return builder.take();
}

Schedule broadcast_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, call.root);
  const std::size_t bytes = count_bytes(call);
  const bool root = place.rank == call.root;
  Builder builder;
  builder.round();
  if (root) builder.copy(output(0, bytes), input(call, 0, bytes));
  Call part = part_of(call, Operation::broadcast, true);
  Call between = part;
  between.root = teams.leaders.index_of(call.root);
  const bool large = bytes >= kLargeBytes && teams.leaders.ranks.size() > 2;
  embed(builder, large ? broadcast_scatter_allgather : broadcast_binomial, between, teams.leaders,
        output(0, bytes), output(0, bytes));
  embed(builder, broadcast_binomial, part, teams.host(), output(0, bytes), output(0, bytes));
  return builder.take();
}

Schedule reduce_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, call.root);
  const std::size_t bytes = count_bytes(call);
  const bool root = place.rank == call.root;
  Builder builder;
  const Region source = root ? input(call, 0, bytes) : Region{Space::input, 0, bytes};
  const Region result = root ? output(0, bytes) : builder.scratch(teams.leads() ? bytes : 0);
  const Region combined = reduce_in_host(builder, call, teams, source, result);
  if (!teams.leads()) return builder.take();
  Call between = part_of(call, Operation::reduce, combined == result);
  between.root = teams.leaders.index_of(call.root);
  const bool large = bytes >= kLargeBytes && teams.leaders.ranks.size() > 2;
  embed(builder, large ? reduce_rabenseifner : reduce_binomial, between, teams.leaders, combined,
        result);
  return builder.take();
}

Schedule allreduce_two_level(const Call& call, const Place& place) {
  const Teams teams = teams_of(place, -1);
  const std::size_t bytes = count_bytes(call);
  const Region result = output(0, bytes);
  Builder builder;
  const Region combined = reduce_in_host(builder, call, teams, input(call, 0, bytes), result);
  const Call between = part_of(call, Operation::allreduce, combined == result);
  const bool large = bytes >= kLargeBytes;
  embed(builder, large ? allreduce_rabenseifner : allreduce_recursive_doubling, between,
        teams.leaders, combined, result);
  embed(builder, broadcast_binomial, part_of(call, Operation::broadcast, true), teams.host(),
        result, result);
  return builder.take();
}

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
