#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/collective/crew.h"
#include "muster/comm/collective/roster.h"

namespace muster::comm::collective {

struct Formed {
  Roster roster;
  std::uint64_t id = 0;  ///< of the group; no other has it
  std::uint32_t epoch = 0;
};

struct FormationOptions {
  int size = 0;
  std::optional<int> rank;
  /// With a size of 0: of which type this one is, and how many others of each it needs.
  std::string type;
  std::map<std::string, int> needs;
  std::uint32_t epoch = 0;  ///< of the group that grows; 0 for who has none yet
  /// Members of that group: what they said before it was made does not count.
  std::map<std::string, int> old_ranks;
  /// Why there is no use in going on; with the lock held.
  std::function<std::optional<Error>()> ended = [] { return std::nullopt; };
};

/// Agrees with the other members of the crew who they are. Every member tells every other of
/// itself; who has heard of as many as the group has ranks knows all ranks, and tells rank 0 so;
/// when all have told it about the same members, rank 0 says "go", with the id of the group.
/// Members that go away meanwhile are forgotten. The lock is held, and released while waiting.
[[nodiscard]] Result<Formed> form(Crew& crew, Crew::Lock& lock, const FormationOptions& options,
                                  TimePoint deadline);

}  // namespace muster::comm::collective
