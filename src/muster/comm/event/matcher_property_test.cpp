// Random events, messages, joins and leaves: the matcher must do what a slow and obvious model
// does.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <rapidcheck.h>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "muster/comm/event/matcher.h"
#include "muster/comm/event/parse.h"

namespace muster::comm {
namespace {

using Script = std::vector<std::uint8_t>;

/// Turns random bytes into choices; when they run out, the first choice. Shrinking the bytes makes
/// the scenario smaller.
class Choices {
 public:
  explicit Choices(const Script& script) : script_(script) {}

  [[nodiscard]] bool done() const { return at_ >= script_.size(); }
  std::size_t below(std::size_t count) { return done() ? 0 : script_[at_++] % count; }
  template <class T>
  T one_of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  const Script& script_;
  std::size_t at_ = 0;
};

// "a" is also the name of a peer of type "b", and "c" a type and the name of its only peer.
const std::vector<std::pair<std::string, std::string>> kPeers{{"a1", "a"}, {"a2", "a"}, {"a3", "a"},
                                                              {"b1", "b"}, {"a", "b"},  {"c", "c"}};
const std::vector<std::string> kSources{"a", "*", "b", "a1", "b1", "c", "nobody"};
const std::vector<std::string> kTags{"x", "y", "*"};
const std::vector<std::string> kAmounts{"1", "2", "3", "5", "1%", "34%", "50%", "67%", "100%"};

Event random_event(Choices& choices, int depth) {
  if (depth == 0 || choices.below(3) == 0) {
    return choices.one_of(kSources) + ":" + choices.one_of(kTags) + ":" + choices.one_of(kAmounts);
  }
  const auto kind = choices.below(2) == 0 ? Event::Kind::all_of : Event::Kind::any_of;
  std::vector<Event> operands;
  for (std::size_t i = 1 + choices.below(3); i > 0; --i)
    operands.push_back(random_event(choices, depth - 1));
  return {kind, std::move(operands)};
}

struct PushedMessage {
  std::uint64_t token;
  std::string source;
  std::string type;
  std::string tag;
};

class Model {
 public:
  using Peers = std::map<std::string, std::string>;
  using Fired = std::pair<std::size_t, std::vector<std::uint64_t>>;

  explicit Model(const Peers& peers) : peers_(peers) {}

  void add(Event event) { events_.push_back({std::move(event), {}}); }

  std::size_t push(const PushedMessage& message) {
    std::size_t takers = 0;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (!asks_for(events_[i].event, message)) continue;
      ++takers;
      events_[i].waiting.push_back(message);
      fire(i);
    }
    return takers;
  }

  void recheck() {
    for (std::size_t i = 0; i < events_.size(); ++i) fire(i);
  }

  void clear() {
    for (auto& state : events_) state.waiting.clear();
  }

  [[nodiscard]] std::size_t waiting() const {
    std::size_t count = 0;
    for (const auto& state : events_) count += state.waiting.size();
    return count;
  }

  [[nodiscard]] std::vector<Fired> take_fired() { return std::exchange(fired_, {}); }

 private:
  struct State {
    Event event;
    std::vector<PushedMessage> waiting;
  };
  using Positions = std::set<std::size_t>;

  static bool matches_peer(const UnitEvent& unit, const std::string& name,
                           const std::string& type) {
    return unit.source == "*" || unit.source.view() == name || unit.source.view() == type;
  }

  static bool matches(const UnitEvent& unit, const PushedMessage& message) {
    return matches_peer(unit, message.source, message.type) &&
           (unit.tag == "*" || unit.tag.view() == message.tag);
  }

  static bool asks_for(const Event& event, const PushedMessage& message) {
    if (event.kind() == Event::Kind::unit) return matches(event.unit(), message);
    return std::any_of(event.operands().begin(), event.operands().end(),
                       [&](const Event& operand) { return asks_for(operand, message); });
  }

  [[nodiscard]] std::size_t needed(const UnitEvent& unit) const {
    if (unit.amount.kind == Amount::Kind::count) return unit.amount.value;
    std::size_t peers = 0;
    for (const auto& [name, type] : peers_) peers += matches_peer(unit, name, type);
    if (peers == 0) return SIZE_MAX;
    std::size_t needed = 1;
    while (needed * 100 < unit.amount.value * peers) ++needed;
    return needed;
  }

  /// The messages that satisfy the event, if it is satisfied.
  [[nodiscard]] std::optional<Positions> solve(const Event& event,
                                               const std::vector<PushedMessage>& waiting) const {
    Positions taken;
    if (event.kind() == Event::Kind::unit) {
      const std::size_t enough = needed(event.unit());
      for (std::size_t i = 0; i < waiting.size() && taken.size() < enough; ++i) {
        if (matches(event.unit(), waiting[i])) taken.insert(i);
      }
      return taken.size() == enough ? std::optional(taken) : std::nullopt;
    }
    for (const Event& operand : event.operands()) {
      const auto part = solve(operand, waiting);
      if (event.kind() == Event::Kind::any_of && part) return part;
      if (event.kind() == Event::Kind::all_of && !part) return std::nullopt;
      if (part) taken.insert(part->begin(), part->end());
    }
    return event.kind() == Event::Kind::all_of ? std::optional(taken) : std::nullopt;
  }

  void fire(std::size_t index) {
    State& state = events_[index];
    while (const auto taken = solve(state.event, state.waiting)) {
      Fired fired{index, {}};
      std::vector<PushedMessage> rest;
      for (std::size_t i = 0; i < state.waiting.size(); ++i) {
        if (taken->contains(i)) {
          fired.second.push_back(state.waiting[i].token);
        } else {
          rest.push_back(state.waiting[i]);
        }
      }
      state.waiting = std::move(rest);
      fired_.push_back(std::move(fired));
    }
  }

  const Peers& peers_;
  std::vector<State> events_;
  std::vector<Fired> fired_;
};

class Scenario {
 public:
  explicit Scenario(const Script& script) : choices_(script) {
    for (const auto& [name, type] : kPeers) {
      if (choices_.below(2) == 0) peers_[name] = type;
    }
  }

  void play() {
    for (std::size_t i = 1 + choices_.below(4); i > 0; --i) add_event();
    while (!choices_.done()) {
      step(choices_.below(20));
      compare();
    }
  }

 private:
  void step(std::size_t what) {
    if (what == 0) return toggle_peer();
    if (what == 1) return add_event();
    if (what == 2 && choices_.below(4) == 0) return clear();
    push();
  }

  void add_event() {
    const Event event = random_event(choices_, 3);
    log_ += event.str() + "\n";
    matcher_.add(event);
    model_.add(event);
  }

  void toggle_peer() {
    const auto& [name, type] = choices_.one_of(kPeers);
    if (peers_.erase(name) == 0) peers_[name] = type;
    log_ += fmt::format("peers {}\n", fmt::join(peers_, " "));
    matcher_.recheck();
    model_.recheck();
  }

  void clear() {
    log_ += "clear\n";
    matcher_.clear();
    model_.clear();
  }

  void push() {
    const auto& [name, type] = choices_.one_of(kPeers);
    const PushedMessage message{++token_, name, type, choices_.one_of(kTags)};
    log_ += fmt::format("push {} {}:{}\n", message.token, message.source, message.tag);
    const auto takers = matcher_.push(message.token, message.source, message.type, message.tag);
    RC_ASSERT(takers.has_value());
    RC_ASSERT(*takers == model_.push(message));
  }

  void compare() {
    std::vector<Model::Fired> fired;
    for (const Firing& firing : matcher_.take_fired())
      fired.emplace_back(firing.event.value(), firing.tokens);
    const auto expected = model_.take_fired();
    if (fired != expected) RC_FAIL(fmt::format("{}fired {}\ninstead of {}", log_, fired, expected));
    RC_ASSERT(matcher_.waiting() == model_.waiting());
  }

  [[nodiscard]] std::size_t count(std::string_view source) const {
    return static_cast<std::size_t>(
        std::count_if(peers_.begin(), peers_.end(), [&](const auto& peer) {
          return source == "*" || source == peer.first || source == peer.second;
        }));
  }

  Choices choices_;
  Model::Peers peers_;
  EventMatcher matcher_{[this](std::string_view source) { return count(source); }};
  Model model_{peers_};
  std::uint64_t token_ = 0;
  std::string log_;
};

/// As rc::check, but more often; RC_PARAMS can ask for more still.
template <class Property>
bool holds_often(Property&& property) {
  auto params = rc::detail::configuration().testParams;
  params.maxSuccess = std::max(params.maxSuccess, 2000);
  const auto result = rc::detail::checkTestable(std::forward<Property>(property),
                                                rc::detail::TestMetadata(), params);
  rc::detail::printResultMessage(result, std::cerr);
  std::cerr << std::endl;
  return result.template is<rc::detail::SuccessResult>();
}

TEST(EventMatcherProperty, DoesWhatTheObviousModelDoes) {
  EXPECT_TRUE(holds_often([] {
    const auto size = *rc::gen::inRange<std::size_t>(20, 250);
    Scenario(*rc::gen::container<Script>(size, rc::gen::arbitrary<std::uint8_t>())).play();
  }));
}

TEST(EventMatcherProperty, ReadsEveryEventThatItWrites) {
  EXPECT_TRUE(rc::check([](const Script& script) {
    Choices choices(script);
    const Event event = random_event(choices, 5);
    RC_ASSERT(parse_event(event.str()) == event);
  }));
}

TEST(EventMatcherProperty, ReadsAnyTextWithoutTrouble) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    const auto event = parse_event(text);
    if (event) RC_ASSERT(parse_event(event->str()) == *event);
  }));
}

}  // namespace
}  // namespace muster::comm
