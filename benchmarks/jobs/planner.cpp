// How long planning takes, against the predecessor's way of placing containers, written anew in its
// language (planner_peer.py). Called as: bench_planner BALANCED_MS COMPACTED_MS [--quick]

#include "muster/cluster/schedule/planner.h"

#include <chrono>
#include <cstdlib>
#include <random>
#include <string_view>

#include <fmt/format.h>

#include "comm/samples.h"

namespace muster::bench {
namespace {

using namespace cluster;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kGiB = 1ull << 30;

std::vector<PlannerNode> make_nodes(std::size_t count) {
  std::vector<PlannerNode> nodes(count);
  for (std::size_t i = 0; i < count; ++i) {
    nodes[i].name = fmt::format("node{}", i);
    nodes[i].total = {.cpu_milli = 16'000, .memory = 64 * kGiB, .gpu = i % 4};
  }
  return nodes;
}

/// Components of many sizes, about two thirds of what the nodes have.
PlannerJob make_job(std::string name, std::size_t components, AllocationMode mode,
                    std::mt19937& random) {
  PlannerJob job;
  job.name = std::move(name);
  job.allocation.mode = mode;
  for (std::size_t i = 0; i < components; ++i) {
    const Resources each{.cpu_milli = 500 + 250 * (random() % 13),
                         .memory = (1 + random() % 16) * kGiB / 2,
                         .gpu = random() % 10 == 0 ? 1u : 0u};
    job.components.push_back({fmt::format("c{}", i), 1, each});
  }
  return job;
}

struct Case {
  std::string name;
  std::vector<PlannerJob> jobs;
  double peer_ms;
  double budget;  // how many times better than that it has to be
};

double milliseconds_of(const std::vector<PlannerNode>& nodes, const std::vector<PlannerJob>& jobs,
                       std::size_t& started) {
  const auto begin = Clock::now();
  const Plan result = plan(nodes, jobs);
  const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
  started = result.starts.size();
  return took.count();
}

void measure(const Case& each, const std::vector<PlannerNode>& nodes, int repetitions) {
  Samples ours;
  Samples peer;
  peer.add(each.peer_ms);
  std::size_t started = 0;
  for (int i = 0; i < repetitions; ++i) ours.add(milliseconds_of(nodes, each.jobs, started));
  fmt::print(stderr, "{}: {} of {} jobs start, {:.2f} ms\n", each.name, started, each.jobs.size(),
             ours.median());
  print({.name = each.name,
         .ours = &ours,
         .peer = &peer,
         .peer_name = "heaps.py",
         .unit = "ms",
         .better = Better::lower,
         .budget = each.budget});
}

std::vector<PlannerJob> queue(std::size_t count, std::size_t components, std::mt19937& random) {
  std::vector<PlannerJob> jobs;
  for (std::size_t i = 0; i < count; ++i) {
    jobs.push_back(make_job(fmt::format("job{}", i), components, AllocationMode::balanced, random));
    jobs.back().submitted = std::chrono::milliseconds(i);
  }
  return jobs;
}

int run(double balanced_ms, double compacted_ms, bool quick) {
  std::mt19937 random(1);
  const auto nodes = make_nodes(1000);
  std::vector<Case> cases;
  cases.push_back({"plan balanced, 1000 x 5000",
                   {make_job("gang", 5000, AllocationMode::balanced, random)},
                   balanced_ms,
                   2});
  cases.push_back({"plan compacted, 1000 x 5000",
                   {make_job("gang", 5000, AllocationMode::compacted, random)},
                   compacted_ms,
                   2});
  // The predecessor plans each job by itself, so all of them cost it no less than one of all.
  cases.push_back({"plan 1000 jobs of 5", queue(1000, 5, random), balanced_ms, 1});
  cases.push_back({"plan 10000 jobs of 5", queue(10'000, 5, random), balanced_ms, 0});
  for (const Case& each : cases) measure(each, nodes, quick ? 5 : 25);
  return 0;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: bench_planner BALANCED_MS COMPACTED_MS [--quick]\n");
    return 2;
  }
  const bool quick = argc > 3 && std::string_view(argv[3]) == "--quick";
  return muster::bench::run(std::atof(argv[1]), std::atof(argv[2]), quick);
}
