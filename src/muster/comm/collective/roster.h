#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/collective/options.h"

namespace muster::comm::collective {

/// What a process says of itself when a group is made.
struct Hello {
  std::uint64_t life = 0;  ///< tells processes with the same name apart
  int size = 0;            ///< how many ranks it expects; none when its needs tell
  int rank = -1;           ///< that it asks for; none when negative
  std::uint32_t epoch = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string pid_namespace;
  std::uint64_t table = 0;    ///< the digest of its `ChoiceTable`
  std::string table_problem;  ///< why it has none
  Plane plane = Plane::automatic;
  std::string type;
  std::map<std::string, int> needs;  ///< how many others of each type it waits for
};

using Hellos = std::map<std::string, Hello>;  // by member

/// Who has which rank.
struct Roster {
  std::vector<std::string> members;  // by rank
  std::vector<Hello> hellos;         // by rank
  /// Equal where everything is.
  std::uint64_t digest = 0;

  [[nodiscard]] int rank_of(const std::string& member) const;
  [[nodiscard]] bool on_one_host() const;
  /// For each rank, which host it is on; hosts are numbered in order of their first rank.
  [[nodiscard]] std::vector<int> hosts() const;
};

/// Gives out the ranks: first those that were asked for, the rest in the order of names. Nothing
/// while members are missing; an error when there are too many, or two want the same rank. Who
/// expects another size does not count: it may wait for the group to grow. With a size of 0, those
/// that expect none are all members as soon as what each of them needs is there.
[[nodiscard]] Result<std::optional<Roster>> make_roster(const std::string& group, int size,
                                                        const Hellos& hellos);

/// An error when not all ranks choose algorithms by the same table, or some would share memory and
/// others would not: they would wait for each other.
[[nodiscard]] Result<void> check_alike(const std::string& group, const Roster& roster);

/// An error when two expect different sizes and neither can wait for the group of the other to
/// grow, because newcomers get the last ranks.
[[nodiscard]] Result<void> check_sizes(const std::string& group, const Hellos& hellos);

/// "only 2 of 4 ranks came in time: rank 1, 3 missing; 'x' expects 3", with "in time" for `when`.
[[nodiscard]] std::string describe_missing(int size, const Hellos& hellos, std::string_view when);

}  // namespace muster::comm::collective
