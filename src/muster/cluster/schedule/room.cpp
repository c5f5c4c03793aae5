#include "muster/cluster/schedule/room.h"

#include <algorithm>
#include <numeric>

#include "muster/base/assert.h"

namespace muster::cluster {
namespace {

std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

/// What is left, nothing where more is taken than there is.
Resources left(const Resources& whole, const Resources& taken) {
  return {.cpu_milli = minus(whole.cpu_milli, taken.cpu_milli),
          .memory = minus(whole.memory, taken.memory),
          .gpu = minus(whole.gpu, taken.gpu)};
}

/// The components, those that take most of the metric first.
std::vector<std::uint32_t> placing_order(const PlannerJob& job) {
  std::vector<std::uint32_t> order(job.components.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t of_a = amount(job.components[a].each, job.allocation.metric);
    const std::uint64_t of_b = amount(job.components[b].each, job.allocation.metric);
    return of_a != of_b ? of_a > of_b : a < b;
  });
  return order;
}

// Enough to catch the usual few sizes; a longer list would cost more than it saves.
constexpr std::size_t kMaxRemembered = 8;

}  // namespace

Room::Room(const std::vector<PlannerNode>& nodes, Of what) {
  nodes_.reserve(nodes.size());
  for (const PlannerNode& node : nodes) {
    if (what == Of::empty_nodes) {
      nodes_.push_back({node.total, 0});
    } else {
      nodes_.push_back({left(node.total, node.used), node.instances});
    }
  }
}

bool Room::goes_before(AllocationMode mode, const Ranked& a, const Ranked& b) {
  const bool balanced = mode == AllocationMode::balanced;
  if (a.amount != b.amount) return (a.amount > b.amount) == balanced;
  if (a.instances != b.instances) return (a.instances < b.instances) == balanced;
  return a.node < b.node;
}

Room::Ranked Room::ranked(std::uint32_t node, Metric metric) const {
  return {amount(nodes_[node].free, metric), nodes_[node].instances, node};
}

std::size_t Room::ranking_for(const Allocation& by) {
  for (std::size_t i = 0; i < rankings_.size(); ++i) {
    if (rankings_[i].by == by) return i;
  }
  Ranking ranking{by, {}};
  ranking.nodes.reserve(nodes_.size());
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    ranking.nodes.push_back(ranked(node, by.metric));
  }
  std::ranges::sort(ranking.nodes,
                    [&](const Ranked& a, const Ranked& b) { return goes_before(by.mode, a, b); });
  rankings_.push_back(std::move(ranking));
  return rankings_.size() - 1;
}

void Room::change(std::uint32_t node, const Resources& free, std::uint32_t instances) {
  const Node before = nodes_[node];
  nodes_[node] = {free, instances};
  for (Ranking& ranking : rankings_) {
    const auto order = [&](const Ranked& a, const Ranked& b) {
      return goes_before(ranking.by.mode, a, b);
    };
    const Ranked old_key{amount(before.free, ranking.by.metric), before.instances, node};
    const Ranked new_key = ranked(node, ranking.by.metric);
    const auto from = std::ranges::lower_bound(ranking.nodes, old_key, order);
    MUSTER_ASSERT(from != ranking.nodes.end() && from->node == node, "every node is ranked");
    const auto to = std::ranges::lower_bound(ranking.nodes, new_key, order);
    if (to > from) {
      std::move(from + 1, to, from);
      *(to - 1) = new_key;
    } else {
      std::move_backward(to, from, from + 1);
      *to = new_key;
    }
  }
}

std::uint32_t Room::place_component(const Allocation& by, const PlannerComponent& component,
                                    std::vector<std::uint32_t>& chosen) {
  const auto& nodes = rankings_[ranking_for(by)].nodes;  // change() moves elements, not the vector
  const std::uint64_t need = amount(component.each, by.metric);
  std::size_t at = 0;
  if (by.mode == AllocationMode::compacted) {
    at = static_cast<std::size_t>(
        std::ranges::partition_point(nodes,
                                     [&](const Ranked& node) { return node.amount < need; }) -
        nodes.begin());
  }
  // Nodes before `at` have no room for this component, and get none by what is placed elsewhere.
  // A node that takes an instance moves back (balanced) or forward (compacted, and is filled before
  // the next is looked at).
  std::uint32_t placed = 0;
  while (placed < component.num && at < nodes.size() && nodes[at].amount >= need) {
    const std::uint32_t node = nodes[at].node;
    Node state = nodes_[node];
    std::uint32_t here = 0;
    const std::uint32_t most = by.mode == AllocationMode::balanced ? 1 : component.num - placed;
    while (here < most && state.free.holds(component.each)) {
      state.free -= component.each;
      ++here;
    }
    if (here > 0) change(node, state.free, state.instances + here);
    if (here == 0 || by.mode == AllocationMode::compacted) ++at;
    chosen.insert(chosen.end(), here, node);
    placed += here;
  }
  return placed;
}

tl::expected<std::vector<Placement>, Shortfall> Room::place(const PlannerJob& job) {
  std::vector<std::vector<std::uint32_t>> chosen(job.components.size());
  const auto collect = [&] {
    std::vector<Placement> placements;
    for (std::uint32_t component = 0; component < chosen.size(); ++component) {
      std::uint32_t index = 0;
      for (const std::uint32_t node : chosen[component]) {
        placements.push_back({component, index++, node});
      }
    }
    return placements;
  };
  bool first = true;
  for (const std::uint32_t number : placing_order(job)) {
    const PlannerComponent& component = job.components[number];
    const auto too_small = [&](const Resources& size) { return component.each.holds(size); };
    if (component.num > 0 && std::ranges::any_of(fits_nowhere_, too_small)) {
      undo(job, collect());
      return tl::unexpected(Shortfall{number, 0});
    }
    const std::uint32_t placed = place_component(job.allocation, component, chosen[number]);
    if (placed < component.num) {
      undo(job, collect());
      if (first && placed == 0 && fits_nowhere_.size() < kMaxRemembered) {
        fits_nowhere_.push_back(component.each);
      }
      return tl::unexpected(Shortfall{number, placed});
    }
    first = first && component.num == 0;
  }
  return collect();
}

bool Room::take(const PlannerJob& job, const std::vector<Placement>& placements) {
  std::vector<Placement> taken;
  for (const Placement& placement : placements) {
    const Resources& each = job.components[placement.component].each;
    const Node& node = nodes_[placement.node];
    if (!node.free.holds(each)) {
      undo(job, taken);
      return false;
    }
    change(placement.node, node.free - each, node.instances + 1);
    taken.push_back(placement);
  }
  return true;
}

void Room::give_back(const PlannerJob& job, const std::vector<Placement>& placements) {
  undo(job, placements);
  fits_nowhere_.clear();
}

void Room::undo(const PlannerJob& job, const std::vector<Placement>& placements) {
  for (const Placement& placement : placements) {
    const Node& node = nodes_[placement.node];
    change(placement.node, node.free + job.components[placement.component].each,
           node.instances - 1);
  }
}

void Room::reserve(const PlannerJob& job, const std::vector<Placement>& placements) {
  for (const Placement& placement : placements) {
    const Node& node = nodes_[placement.node];
    change(placement.node, left(node.free, job.components[placement.component].each),
           node.instances);
  }
}

}  // namespace muster::cluster
