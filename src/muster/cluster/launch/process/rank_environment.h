#pragma once

#include <string>
#include <vector>

namespace muster::cluster {

/// One rank of a group of processes that a launcher starts.
struct RankPlace {
  std::string group{};  ///< a name that no other run has
  unsigned rank = 0;
  unsigned size = 1;
  unsigned local_rank = 0;
  std::string discovery{};  ///< where ranks find each other; the default of this host when empty
};

/// What the rank finds in its environment, as "NAME=value": MUSTER_RANK, MUSTER_SIZE, MUSTER_GROUP,
/// MUSTER_LOCAL_RANK, MUSTER_DISCOVERY if there is one, and the names that components of jobs have.
[[nodiscard]] std::vector<std::string> rank_environment(const RankPlace& place);

/// An environment with changes: later values of a name replace earlier ones.
[[nodiscard]] std::vector<std::string> merged_environment(std::vector<std::string> base,
                                                          const std::vector<std::string>& changes);

/// Our own.
[[nodiscard]] std::vector<std::string> own_environment();

}  // namespace muster::cluster
