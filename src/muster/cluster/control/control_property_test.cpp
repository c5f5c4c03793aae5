#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "muster/base/random.h"
#include "muster/cluster/control/control.h"

namespace muster::cluster {
namespace {

// Jobs of all kinds come, end, fail, are stopped, removed, and the agent crashes and loads what was
// stored, all from a seed.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed), control_(options()) {}

  void run() {
    for (int step = 0; step < 200; ++step) {
      now_ += static_cast<std::int64_t>(random_.below(200));
      act();
      settle();
      check();
    }
    drain();
  }

 private:
  static ControlOptions options() {
    return {.node = {.cpu_milli = 4000, .memory = 1000, .gpu = 2}, .parallel_level = 3};
  }

  void act() {
    switch (random_.below(8)) {
      case 0:
      case 1: return submit();
      case 2: return crash();
      case 3: control_.stop(any_name(), now_); return;
      case 4: control_.remove(any_name(), now_); return;
      default: return end_one();
    }
  }

  std::string any_name() { return "job" + std::to_string(random_.below(submitted_ + 1)); }

  void submit() {
    JobState job{.id = "id" + std::to_string(submitted_), .submitted_ms = now_};
    job.spec.name = "job" + std::to_string(submitted_++);
    job.spec.priority = static_cast<std::int32_t>(random_.below(3));
    if (random_.chance(0.2)) job.spec.timeout = std::chrono::milliseconds(random_.below(2000));
    const auto count = 1 + random_.below(3);
    for (std::uint64_t i = 0; i < count; ++i) job.spec.components.push_back(component(i));
    control_.load(std::move(job), now_);
  }

  ComponentSpec component(std::uint64_t number) {
    ComponentSpec spec;
    spec.name = "c" + std::to_string(number);
    spec.num = static_cast<std::uint32_t>(1 + random_.below(3));
    spec.command = {"true"};
    spec.resources = {.cpu_milli = random_.below(1500), .memory = 0, .gpu = random_.below(2)};
    spec.restart.policy = static_cast<RestartPolicy>(random_.below(3));
    spec.restart.max = static_cast<std::uint32_t>(random_.below(3));
    spec.restart.backoff = std::chrono::milliseconds(random_.below(100));
    if (number > 0 && random_.chance(0.4)) {
      spec.depends_on = {{"c0", static_cast<DependsUntil>(random_.below(2))}};
    }
    if (random_.chance(0.2)) spec.timeout = std::chrono::milliseconds(random_.below(500));
    return spec;
  }

  void end_one() {
    if (running_.empty()) return;
    auto place = running_.begin();
    std::advance(place, static_cast<std::ptrdiff_t>(random_.below(running_.size())));
    const AttemptRef attempt = *place;
    running_.erase(place);
    constexpr int kCodes[] = {0, 0, 1, 64, 65};
    control_.ended(attempt, {.status = {.code = kCodes[random_.below(5)]}}, {}, now_);
  }

  // What is stored is what the actions told to store.
  void crash() {
    control_ = Control(options());
    for (const auto& [name, job] : stored_) control_.load(job, now_);
    const std::set<AttemptRef> believed = believed_running();
    for (const AttemptRef& attempt : believed) {
      if (!running_.contains(attempt)) control_.not_started(attempt, now_);
    }
  }

  std::set<AttemptRef> believed_running() const {
    std::set<AttemptRef> attempts;
    for (const auto& [name, job] : control_.jobs()) {
      for (std::size_t i = 0; i < job.instances.size(); ++i) {
        if (job.instances[i].phase == InstancePhase::running)
          attempts.insert({name, i, job.instances[i].attempt});
      }
    }
    return attempts;
  }

  void settle() {
    const ControlActions actions = control_.take_actions(now_);
    for (const auto& name : actions.changed_jobs) stored_[name] = *control_.find(name);
    for (const auto& [name, position] : actions.changed_instances) {
      JobState& job = stored_[name];
      if (job.id.empty()) job = *control_.find(name);
      job.instances[position] = control_.find(name)->instances[position];
    }
    // Submitted jobs are stored by whoever submits them.
    for (const auto& [name, job] : control_.jobs()) stored_.try_emplace(name, job);
    for (const auto& removed : actions.removed) stored_.erase(removed.name);
    for (const AttemptRef& start : actions.starts) {
      RC_ASSERT(started_.insert({start.job, start.instance, start.attempt}).second);
      running_.insert(start);
    }
    for (const AttemptRef& stop : actions.stops) RC_ASSERT(running_.contains(stop));
  }

  void check() {
    RC_ASSERT(control_.running_jobs() <= options().parallel_level);
    RC_ASSERT(options().node.holds(control_.used()));
    RC_ASSERT(believed_running() == running_);
    std::map<std::uint32_t, int> gpus;
    for (const auto& [name, job] : control_.jobs()) {
      RC_ASSERT(stored_.at(name) == job);
      const bool over = std::ranges::all_of(job.instances, &InstanceState::final);
      RC_ASSERT(over == job.final());
      for (const auto& instance : job.instances) {
        if (instance.final() || job.phase == JobPhase::pending) continue;
        for (const auto gpu : instance.gpus) RC_ASSERT(++gpus[gpu] == 1);
      }
    }
  }

  // Everything comes to an end when components do.
  void drain() {
    for (int step = 0; step < 3000 && !over(); ++step) {
      now_ += 1000;
      if (!running_.empty()) {
        const AttemptRef attempt = *running_.begin();
        running_.erase(running_.begin());
        control_.ended(attempt, {}, {}, now_);
      }
      settle();
      check();
    }
    RC_ASSERT(over());
    RC_ASSERT(control_.used().empty());
  }

  bool over() const {
    return std::ranges::all_of(control_.jobs(),
                               [](const auto& each) {
                                 // One that needs more than there is waits for ever.
                                 return each.second.final() || !each.second.reason.empty();
                               }) &&
           running_.empty();
  }

  Random random_;
  Control control_;
  std::int64_t now_ = 1'000;
  std::uint64_t submitted_ = 0;
  std::map<std::string, JobState> stored_;
  std::set<AttemptRef> running_;
  std::set<std::tuple<std::string, std::size_t, std::uint32_t>> started_;
};

RC_GTEST_PROP(ControlProperty, KeepsItsPromisesThroughAnythingThatHappens, (std::uint64_t seed)) {
  World(seed).run();
}

}  // namespace
}  // namespace muster::cluster
