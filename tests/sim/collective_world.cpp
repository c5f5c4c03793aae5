#include "tests/sim/collective_world.h"

#include <utility>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "tests/collectives/test_case.h"
#include "tests/sim/collective_node.h"

namespace muster::sim {
namespace {

using comm::collective::Call;
using comm::collective::Element;
using comm::collective::ReductionKind;
using comm::collective::TestCase;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kCalls = 5;
constexpr std::uint64_t kMostRanks = 9;
// More than the lease and all retransmissions: a call that is not over by then never will be.
constexpr Duration kPatience = seconds(60);

// What is exact in any order.
constexpr std::pair<Element, ReductionKind> kItems[] = {{Element::i32, ReductionKind::sum},
                                                        {Element::u8, ReductionKind::bxor},
                                                        {Element::i64, ReductionKind::min},
                                                        {Element::f16, ReductionKind::max},
                                                        {Element::f64, ReductionKind::sum}};

class CollectiveWorld {
 public:
  CollectiveWorld(std::uint64_t seed, CollectiveFaults faults, double loss)
      : random_(seed), network_(clock_, seed ^ 0x5eed), faults_(faults), loss_(loss) {}

  CollectiveOutcome run() {
    size_ = 1 + static_cast<int>(random_.below(kMostRanks));
    auto board = std::make_shared<comm::MemoryBoard>(clock_);
    for (int rank = 0; rank < size_; ++rank)
      nodes_.push_back(
          std::make_unique<CollectiveNode>(rank, size_, network_, clock_, board, faults_));
    if (!advance_until(kPatience, [&] { return all([](auto& node) { return node.sees_all(); }); }))
      return violated("the nodes do not find each other");
    crash_in_call_ = random_.chance(0.5) ? static_cast<int>(random_.below(kCalls)) : -1;
    for (int call = 0; call < kCalls && outcome_.violation.empty() && !ended_; ++call)
      carry_out(call);
    return outcome_;
  }

 private:
  TestCase draw() {
    const auto rows = comm::collective::algorithm_rows();
    TestCase test;
    test.row = &rows[random_.below(rows.size())];
    test.size = size_;
    const auto& [element, reduction] = kItems[random_.below(std::size(kItems))];
    test.element = element;
    test.reduction = reduction;
    test.in_place = random_.chance(0.5);
    constexpr std::size_t kCounts[] = {0, 1, 3, 64, 1000, 20'000};
    test.count = kCounts[random_.below(std::size(kCounts))];
    test.root = static_cast<int>(random_.below(static_cast<std::uint64_t>(size_)));
    if (test.row->needs_hosts)
      for (int rank = 0; rank < size_; ++rank)
        test.hosts.push_back(static_cast<int>(random_.below(4)));
    return test;
  }

  void carry_out(int number) {
    const TestCase test = draw();
    std::string wrong = comm::collective::run(
        test, random_.below(UINT32_MAX),
        [&](const std::vector<Call>& calls) { return execute(test, calls, number); },
        [&](int rank) { return ended_well(static_cast<std::size_t>(rank)); });
    if (!wrong.empty()) violated(fmt::format("call {}: {}: {}", number, test.text(), wrong));
    count_outcomes();
  }

  std::string execute(const TestCase& test, const std::vector<Call>& calls, int number) {
    change_weather();
    for (int rank = 0; rank < size_; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      // Ranks do not come at the same time.
      advance(milliseconds(random_.below(20)));
      nodes_[at]->begin(calls[at], build(*test.row, calls[at], {rank, size_, test.hosts}),
                        static_cast<std::uint32_t>(number));
    }
    if (number == crash_in_call_) {
      advance(milliseconds(random_.below(100)));
      dead_ = random_.below(nodes_.size());
      outcome_.crashed = true;
    }
    const bool over =
        advance_until(kPatience, [&] { return all([](auto& node) { return node.over(); }); });
    return over ? "" : "it does not end";
  }

  [[nodiscard]] bool ended_well(std::size_t rank) const {
    return rank != dead_ && !nodes_[rank]->failed();
  }

  void count_outcomes() {
    for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
      if (rank == dead_) continue;
      ++(ended_well(rank) ? outcome_.right : outcome_.failed);
      ended_ = ended_ || !ended_well(rank);
    }
    note(static_cast<std::uint64_t>(outcome_.right * 100 + outcome_.failed));
  }

  void change_weather() {
    network_.weather = {.loss = random_.chance(0.5) ? 0.0 : loss_,
                        .repeat = random_.chance(0.5) ? 0.0 : 0.2,
                        .quickest = milliseconds(random_.below(3)),
                        .slowest = milliseconds(3 + random_.below(40))};
  }

  template <class Predicate>
  bool all(Predicate holds) {
    for (std::size_t rank = 0; rank < nodes_.size(); ++rank)
      if (rank != dead_ && !holds(*nodes_[rank])) return false;
    return true;
  }

  template <class Condition>
  bool advance_until(Duration at_most, Condition condition) {
    const TimePoint end = clock_.now() + at_most;
    while (!condition()) {
      if (clock_.now() >= end) return false;
      Deadline next = network_.next_arrival();
      for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
        if (rank == dead_) continue;  // it says no goodbye, and its lease runs out
        nodes_[rank]->step();
        next = earlier(next, nodes_[rank]->next_event());
      }
      clock_.advance_to(std::clamp(next.value_or(end), clock_.now() + Duration(1000), end));
    }
    return true;
  }

  void advance(Duration duration) {
    const TimePoint end = clock_.now() + duration;
    advance_until(duration, [&] { return clock_.now() >= end; });
  }

  CollectiveOutcome violated(std::string what) {
    if (outcome_.violation.empty()) outcome_.violation = std::move(what);
    return outcome_;
  }

  void note(std::uint64_t number) {
    const auto now = static_cast<std::uint64_t>(clock_.now().time_since_epoch().count());
    outcome_.trace = (outcome_.trace ^ number ^ now) * 0x100'0000'01b3;
  }

  Random random_;
  testing::VirtualClock clock_;
  testing::FrameNetwork network_;
  CollectiveFaults faults_;
  double loss_;
  int size_ = 2;
  std::vector<std::unique_ptr<CollectiveNode>> nodes_;
  int crash_in_call_ = -1;
  std::size_t dead_ = SIZE_MAX;
  // A call failed, which ends the group. Enough lost frames in a row look like a lost rank, so that
  // may happen although nobody died.
  bool ended_ = false;
  CollectiveOutcome outcome_;
};

}  // namespace

CollectiveOutcome run_collectives(std::uint64_t seed, CollectiveFaults faults, double loss) {
  return CollectiveWorld(seed, faults, loss).run();
}

}  // namespace muster::sim
