#include "muster/comm/collective/roster.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm::collective {
namespace {

void mix(std::uint64_t& digest, std::string_view text) {
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  digest = (digest ^ 0xff) * 0x100'0000'01b3;
}

}  // namespace

int Roster::rank_of(const std::string& member) const {
  const auto it = std::find(members.begin(), members.end(), member);
  return it == members.end() ? -1 : static_cast<int>(it - members.begin());
}

bool Roster::on_one_host() const {
  return std::all_of(hellos.begin(), hellos.end(),
                     [&](const Hello& hello) { return hello.host == hellos.front().host; });
}

std::vector<int> Roster::hosts() const {
  std::vector<std::string> known;
  std::vector<int> result;
  for (const Hello& hello : hellos) {
    auto it = std::find(known.begin(), known.end(), hello.host);
    if (it == known.end()) it = known.insert(known.end(), hello.host);
    result.push_back(static_cast<int>(it - known.begin()));
  }
  return result;
}

Result<std::optional<Roster>> make_roster(const std::string& group, int size, const Hellos& all) {
  const auto ranks = static_cast<std::size_t>(size);
  Hellos hellos;
  std::copy_if(all.begin(), all.end(), std::inserter(hellos, hellos.end()),
               [&](const auto& item) { return item.second.size == size; });
  if (hellos.size() > ranks)
    return fail(Errc::group_full,
                fmt::format("{} processes want to be in group '{}', which has {} ranks",
                            hellos.size(), group, size));
  Roster roster;
  roster.members.resize(ranks);
  roster.hellos.resize(ranks);
  const auto put = [&](std::size_t rank, const Hellos::value_type& item) {
    roster.members[rank] = item.first;
    roster.hellos[rank] = item.second;
  };
  for (const auto& item : hellos) {
    const auto& [member, hello] = item;
    if (hello.rank < 0) continue;
    const auto rank = static_cast<std::size_t>(hello.rank);
    if (rank >= ranks)
      return fail(Errc::mismatch, fmt::format("'{}' wants rank {} of group '{}', which has {}",
                                              member, hello.rank, group, size));
    if (!roster.members[rank].empty())
      return fail(Errc::group_full, fmt::format("'{}' and '{}' both want rank {} of group '{}'",
                                                roster.members[rank], member, rank, group));
    put(rank, item);
  }
  if (hellos.size() < ranks) return std::nullopt;
  std::size_t next = 0;
  for (const auto& item : hellos) {
    if (item.second.rank >= 0) continue;
    while (!roster.members[next].empty()) ++next;
    put(next, item);
  }
  roster.digest = 0xcbf2'9ce4'8422'2325;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    mix(roster.digest, roster.members[rank]);
    mix(roster.digest, std::to_string(roster.hellos[rank].life));
  }
  return roster;
}

Result<void> check_tables(const std::string& group, const Roster& roster) {
  std::map<std::uint64_t, int> ranks_with;
  for (std::size_t rank = 0; rank < roster.hellos.size(); ++rank) {
    const Hello& hello = roster.hellos[rank];
    if (!hello.table_problem.empty())
      return fail(Errc::malformed,
                  fmt::format("rank {} of group '{}': {}", rank, group, hello.table_problem));
    ++ranks_with[hello.table];
  }
  if (ranks_with.size() <= 1) return {};
  // Most are taken to be right, or else rank 0.
  std::uint64_t usual = roster.hellos.front().table;
  for (const auto& [table, ranks] : ranks_with)
    if (ranks > ranks_with[usual]) usual = table;
  const auto rank_where = [&](bool has_usual) {
    const auto it = std::find_if(roster.hellos.begin(), roster.hellos.end(), [&](const Hello& one) {
      return (one.table == usual) == has_usual;
    });
    return it - roster.hellos.begin();
  };
  return fail(Errc::mismatch,
              fmt::format("rank {} of group '{}' chooses other algorithms than rank {}: set "
                          "MUSTER_COLLECTIVES alike on all ranks",
                          rank_where(false), group, rank_where(true)));
}

}  // namespace muster::comm::collective
