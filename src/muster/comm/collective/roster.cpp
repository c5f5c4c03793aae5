#include "muster/comm/collective/roster.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/comm/errc.h"

namespace muster::comm::collective {
namespace {

void mix(std::uint64_t& digest, std::string_view text) {
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  digest = (digest ^ 0xff) * 0x100'0000'01b3;
}

/// Whether each has around it what it needs.
bool all_have_what_they_need(const Hellos& hellos) {
  std::map<std::string, int> there;
  for (const auto& [member, hello] : hellos) ++there[hello.type];
  return std::all_of(hellos.begin(), hellos.end(), [&](const auto& item) {
    const Hello& hello = item.second;
    return std::all_of(hello.needs.begin(), hello.needs.end(), [&](const auto& need) {
      const auto it = there.find(need.first);
      const int others = it == there.end() ? 0 : it->second - (hello.type == need.first ? 1 : 0);
      return others >= need.second;
    });
  });
}

const char* name_of(Plane plane) {
  return plane == Plane::network ? "network" : plane == Plane::shared ? "shared" : "automatic";
}

/// The first rank for which it is true, and the first for which it is not.
template <class Predicate>
std::pair<std::size_t, std::size_t> first_of_each(const Roster& roster, Predicate is) {
  const auto& hellos = roster.hellos;
  const auto yes = std::find_if(hellos.begin(), hellos.end(), is);
  const auto no = std::find_if_not(hellos.begin(), hellos.end(), is);
  return {static_cast<std::size_t>(yes - hellos.begin()),
          static_cast<std::size_t>(no - hellos.begin())};
}

/// ": ranks 1 and 3 are missing".
std::string missing_ranks(const std::set<int>& ranks) {
  constexpr std::size_t kShown = 16;
  const auto end =
      std::next(ranks.begin(), static_cast<std::ptrdiff_t>(std::min(kShown, ranks.size())));
  return fmt::format(
      ": rank {}{} missing", fmt::join(ranks.begin(), end, ", "),
      ranks.size() > kShown ? fmt::format(" and {} more", ranks.size() - kShown) : "");
}

/// Who waits for what, where no size is given.
std::string describe_needs(const Hellos& hellos, std::string_view when) {
  std::string text = fmt::format("not all ranks came {}", when);
  for (const auto& [member, hello] : hellos) {
    if (hello.size != 0) continue;
    text += fmt::format("; '{}'", member);
    for (const auto& [type, count] : hello.needs)
      text += fmt::format(" needs {} '{}'", count, type);
  }
  return text;
}

Result<void> check_planes(const std::string& group, const Roster& roster) {
  const bool together = roster.on_one_host();
  const auto by_messages = [&](const Hello& hello) {
    return hello.plane == Plane::network || (hello.plane == Plane::automatic && !together);
  };
  const auto [network, shared] = first_of_each(roster, by_messages);
  if (network == roster.hellos.size() || shared == roster.hellos.size()) return {};
  return fail(Errc::mismatch,
              fmt::format("the ranks of group '{}' want different planes: rank {} '{}', rank {} "
                          "'{}'",
                          group, network, name_of(roster.hellos[network].plane), shared,
                          name_of(roster.hellos[shared].plane)));
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
  Hellos hellos;
  std::copy_if(all.begin(), all.end(), std::inserter(hellos, hellos.end()),
               [&](const auto& item) { return item.second.size == size; });
  if (size == 0 && !all_have_what_they_need(hellos)) return std::nullopt;
  const std::size_t ranks = size == 0 ? hellos.size() : static_cast<std::size_t>(size);
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
                                              member, hello.rank, group, ranks));
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

Result<void> check_alike(const std::string& group, const Roster& roster) {
  std::map<std::uint64_t, int> ranks_with;
  for (std::size_t rank = 0; rank < roster.hellos.size(); ++rank) {
    const Hello& hello = roster.hellos[rank];
    if (!hello.table_problem.empty())
      return fail(Errc::malformed,
                  fmt::format("rank {} of group '{}': {}", rank, group, hello.table_problem));
    ++ranks_with[hello.table];
  }
  if (ranks_with.size() <= 1) return check_planes(group, roster);
  // Most are taken to be right, or else rank 0.
  std::uint64_t usual = roster.hellos.front().table;
  for (const auto& [table, ranks] : ranks_with)
    if (ranks > ranks_with[usual]) usual = table;
  const auto [same, other] =
      first_of_each(roster, [&](const Hello& one) { return one.table == usual; });
  return fail(Errc::mismatch,
              fmt::format("rank {} of group '{}' chooses other algorithms than rank {}: set "
                          "MUSTER_COLLECTIVES alike on all ranks",
                          other, group, same));
}

Result<void> check_sizes(const std::string& group, const Hellos& hellos) {
  for (const auto& [large, one] : hellos) {
    // Who has a rank already grows.
    if (one.rank < 0 || one.epoch > 0) continue;
    for (const auto& [small, other] : hellos) {
      if (other.size <= 0 || other.size >= one.size || one.rank >= other.size) continue;
      return fail(Errc::mismatch,
                  fmt::format("'{}' expects that group '{}' has {} ranks, and '{}', which wants "
                              "rank {}, expects {}",
                              small, group, other.size, large, one.rank, one.size));
    }
  }
  return {};
}

std::string describe_missing(int size, const Hellos& hellos, std::string_view when) {
  std::set<int> unfilled;
  for (int rank = 0; rank < size; ++rank) unfilled.insert(rank);
  int here = 0;
  bool all_named = true;
  std::string others;
  for (const auto& [member, hello] : hellos) {
    if (hello.size != size) {
      others += hello.size > 0 ? fmt::format("; '{}' expects {}", member, hello.size)
                               : fmt::format("; '{}' gave no size", member);
      continue;
    }
    ++here;
    all_named = all_named && hello.rank >= 0;
    unfilled.erase(hello.rank);
  }
  if (size == 0) return describe_needs(hellos, when) + others;
  if (here >= size)
    return fmt::format("all {} ranks came, but did not agree {}{}", size, when, others);
  return fmt::format("only {} of {} ranks came {}{}{}", here, size, when,
                     all_named ? missing_ranks(unfilled) : "", others);
}

}  // namespace muster::comm::collective
