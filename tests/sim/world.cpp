#include "tests/sim/world.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "tests/sim/life.h"

namespace muster::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLongestTrouble = seconds(30);

class World {
 public:
  explicit World(const Plan& plan)
      : plan_(plan),
        random_(plan.seed),
        network_(clock_, plan.seed ^ 0x5EEDull),
        board_(std::make_shared<comm::MemoryBoard>(clock_)) {}

  Outcome run() {
    for (int i = 0; i < plan_.nodes; ++i) start(fmt::format("n{}", i));
    advance(seconds(1));
    for (int i = 0; i < plan_.actions && outcome_.violation.empty(); ++i) act();
    mend();
    advance(seconds(120));
    check();
    return outcome_;
  }

 private:
  void start(const std::string& name) {
    const int number = ++lives_of_[name];
    if (number > 1) ++outcome_.rejoins;
    note(name, number);
    lives_.push_back(std::make_unique<Life>(plan_, network_, clock_, board_, name,
                                            comm::InstanceId(random_() | 1u), number));
    alive_[name] = lives_.back().get();
  }

  // Everything that can happen to a program. The weights make traffic common and disasters rare.
  void act() {
    if (clock_.now() - relieved_ > kLongestTrouble) relieve();
    const auto dice = random_.below(100);
    if (dice < 70) {
      request();
    } else if (dice < 75) {
      crash();
    } else if (dice < 85) {
      come_back();
    } else if (dice < 89) {
      pause_or_resume();
    } else if (dice < 93) {
      cut_or_heal();
    } else {
      change_weather();
    }
    advance(milliseconds(random_.chance(0.1) ? random_.below(5000) : random_.below(100)));
  }

  Life* any_alive() {
    if (alive_.empty()) return nullptr;
    auto it = alive_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_.below(alive_.size())));
    return it->second;
  }

  void request() {
    Life* const from = any_alive();
    if (from == nullptr || from->paused) return;
    const std::string to =
        fmt::format("n{}", random_.below(static_cast<std::uint64_t>(plan_.nodes)));
    const auto type =
        random_.chance(0.7) ? comm::SessionType::task : comm::SessionType::notification;
    const int burst = random_.chance(0.2) ? 20 : 1;
    for (int i = 0; i < burst && to != from->name; ++i) {
      from->request(to, type, fmt::format("{:06}", ++requests_));
    }
    note(from->name, requests_);
  }

  void crash() {
    Life* const life = any_alive();
    if (life == nullptr || alive_.size() < 2) return;
    note(life->name, -1);
    ++outcome_.crashes;
    alive_.erase(life->name);  // never stepped again: it says no goodbye, and its lease runs out
  }

  void come_back() {
    for (int i = 0; i < plan_.nodes; ++i) {
      const std::string name = fmt::format("n{}", i);
      if (!alive_.contains(name)) return start(name);
    }
  }

  void pause_or_resume() {
    if (Life* const life = any_alive()) life->paused = !life->paused;
  }

  void cut_or_heal() {
    Life* const a = any_alive();
    Life* const b = any_alive();
    if (a == nullptr || b == nullptr || a == b) return;
    const std::string& left = a->self.addresses["memory"];
    const std::string& right = b->self.addresses["memory"];
    if (random_.chance(0.5)) {
      network_.cut(left, right);
      cuts_.emplace_back(left, right);
    } else {
      heal();
    }
  }

  void heal() {
    for (const auto& [a, b] : cuts_) network_.heal(a, b);
    cuts_.clear();
  }

  void change_weather() {
    network_.weather = {.loss = random_.chance(0.5) ? 0.0 : 0.3 * uniform(),
                        .repeat = random_.chance(0.5) ? 0.0 : 0.3 * uniform(),
                        .quickest = milliseconds(random_.below(5)),
                        .slowest = milliseconds(5 + random_.below(60))};
  }

  // Peers that are silent for longer than this may forget each other, and then may lose messages.
  void relieve() {
    heal();
    for (const auto& [name, life] : alive_) life->paused = false;
    advance(seconds(10));
    relieved_ = clock_.now();
  }

  void mend() {
    network_.weather = {};
    relieve();
    while (alive_.size() < static_cast<std::size_t>(plan_.nodes)) come_back();
  }

  double uniform() { return static_cast<double>(random_.below(1000)) / 1000.0; }

  void advance(Duration duration) {
    const TimePoint end = clock_.now() + duration;
    while (true) {
      for (const auto& [name, life] : alive_) {
        if (!life->paused) life->step();
      }
      Deadline next = network_.next_arrival();
      for (const auto& [name, life] : alive_) {
        if (!life->paused) next = earlier(next, life->next_event());
      }
      const TimePoint to = std::max(clock_.now() + Duration(1000), next.value_or(end));
      if (to >= end) break;
      clock_.advance_to(to);
    }
    clock_.advance_to(end);
  }

  void note(std::string_view what, std::int64_t number) {
    outcome_.trace = (outcome_.trace ^ std::hash<std::string_view>{}(what)) * 0x100000001B3ull +
                     static_cast<std::uint64_t>(number);
  }

  void violated(std::string what) {
    if (outcome_.violation.empty()) outcome_.violation = std::move(what);
  }

  void check() {
    for (const auto& life : lives_) {
      check_received(*life);
      if (life->repeated() > 0) {
        violated(fmt::format("the links of {} delivered {} messages twice", life->self.process,
                             life->repeated()));
      }
      outcome_.lost_replies += life->lost_replies;
      outcome_.delivered += life->got.size();
      for (const auto& got : life->got) note(got.from, std::stol(got.text));
    }
    for (const auto& [name, life] : alive_) {
      check_sent(*life);
      for (const auto& waiter : life->waiting) {
        violated(fmt::format("{} still waits for {} replies", name, waiter->missing()));
      }
    }
  }

  // Nothing twice in one life, and from each sender in the order of sending.
  void check_received(const Life& life) {
    std::set<std::string> seen;
    std::map<comm::InstanceId, std::string> last;
    for (const auto& got : life.got) {
      if (!seen.insert(got.text).second) {
        violated(fmt::format("{} got request {} twice", life.self.process, got.text));
      }
      std::string& before = last[got.from_instance];
      if (got.text < before) {
        violated(fmt::format("{} got request {} of {} after {}", life.self.process, got.text,
                             got.from, before));
      }
      before = got.text;
    }
  }

  // What a life that never ended sent to another that never ended has arrived there.
  void check_sent(const Life& life) {
    for (const auto& sent : life.sent) {
      const auto to = alive_.find(sent.to);
      if (to == alive_.end() || to->second->self.instance != sent.to_instance) continue;
      const bool arrived = std::any_of(to->second->got.begin(), to->second->got.end(),
                                       [&](const Life::Got& got) { return got.text == sent.text; });
      if (!arrived)
        violated(fmt::format("request {} of {} to {} is lost", sent.text, life.name, sent.to));
    }
  }

  Plan plan_;
  Random random_;
  testing::VirtualClock clock_;
  testing::FrameNetwork network_;
  std::shared_ptr<comm::MemoryBoard> board_;
  std::vector<std::unique_ptr<Life>> lives_;  // all that ever were
  std::map<std::string, Life*> alive_;
  std::map<std::string, int> lives_of_;
  std::vector<std::pair<std::string, std::string>> cuts_;
  std::int64_t requests_ = 0;
  TimePoint relieved_ = clock_.now();
  Outcome outcome_;
};

}  // namespace

Outcome run(const Plan& plan) { return World(plan).run(); }

}  // namespace muster::sim
