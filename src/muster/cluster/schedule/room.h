#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tl/expected.hpp>

#include "muster/cluster/schedule/planner.h"

namespace muster::cluster {

/// Where placing a gang stopped.
struct Shortfall {
  std::uint32_t component = 0;  ///< the first one that did not fit
  std::uint32_t placed = 0;     ///< instances of it that did
};

/// What is free on each node, and where the next instance goes. For each way of placing that was
/// asked for it keeps the nodes in order, so that placing an instance costs a search and a short
/// move instead of a look at all nodes.
class Room {
 public:
  enum class Of { free_now, empty_nodes };
  Room(const std::vector<PlannerNode>& nodes, Of what);

  /// Takes room for all instances of the job, or takes nothing and says where it stopped.
  tl::expected<std::vector<Placement>, Shortfall> place(const PlannerJob& job);
  /// Takes room at these places if all of it is there.
  bool take(const PlannerJob& job, const std::vector<Placement>& placements);
  void give_back(const PlannerJob& job, const std::vector<Placement>& placements);
  /// Keeps others off these places: takes as much of it as is there.
  void reserve(const PlannerJob& job, const std::vector<Placement>& placements);

 private:
  struct Node {
    Resources free;
    std::uint32_t instances;
  };
  struct Ranked {
    std::uint64_t amount;  // of the metric, free
    std::uint32_t instances;
    std::uint32_t node;
  };
  /// All nodes: emptiest first for balanced, fullest first for compacted.
  struct Ranking {
    Allocation by;
    std::vector<Ranked> nodes;
  };

  static bool goes_before(AllocationMode mode, const Ranked& a, const Ranked& b);
  std::size_t ranking_for(const Allocation& by);
  [[nodiscard]] Ranked ranked(std::uint32_t node, Metric metric) const;
  /// Changes what is free on a node, and its place in all rankings.
  void change(std::uint32_t node, const Resources& free, std::uint32_t instances);
  void undo(const PlannerJob& job, const std::vector<Placement>& placements);
  /// Places up to `num` instances and appends their nodes to `chosen`. Returns how many.
  std::uint32_t place_component(const Allocation& by, const PlannerComponent& component,
                                std::vector<std::uint32_t>& chosen);

  std::vector<Node> nodes_;
  std::vector<Ranking> rankings_;
  /// Instances for which no node had room. Room only gets less until something is given back, so
  /// what is no smaller finds none either.
  std::vector<Resources> fits_nowhere_;
};

}  // namespace muster::cluster
