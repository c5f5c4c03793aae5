#include "trial.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "samples.h"

namespace muster::bench {
namespace {

constexpr std::size_t kMost = 10'000'000;
constexpr std::size_t kAnswer = 64;

void expect(std::size_t got, std::size_t wanted) {
  if (got != wanted)
    throw std::runtime_error(fmt::format("a message of {} bytes came, not of {}", got, wanted));
}

}  // namespace

void serve(const WireSpec& spec, Control control) {
  const auto wire = make_wire(spec, End::partner);
  control.say("there");
  for (std::string line = control.hear(); !line.empty(); line = control.hear()) {
    std::istringstream words(line);
    std::string what;
    std::size_t count = 0;
    std::size_t size = 0;
    std::size_t answer = 0;
    words >> what >> count >> size >> answer;
    std::optional<Pinned> pinned;
    if (watches_memory(spec)) pinned.emplace(1);
    const bool echoes = what == "echo";
    control.say("ready");
    for (std::size_t i = 0; i < count; ++i) {
      expect(wire->receive(), size);
      if (echoes) wire->send(answer);
    }
    control.say(std::to_string(now_ns()));
  }
}

Trial::Trial(WireSpec spec, std::size_t fewest) : spec_(std::move(spec)), fewest_(fewest) {
  if (within_process(spec_)) {
    auto [mine, theirs] = socket_pair();
    thread_control_ = std::make_unique<Control>(std::move(mine));
    thread_ = std::thread(
        [this, socket = std::move(theirs)]() mutable { serve(spec_, Control(std::move(socket))); });
  } else {
    partner_ = std::make_unique<Partner>(
        std::vector<std::string>{"--serve", spec_.kind, spec_.meeting_place});
  }
  wire_ = make_wire(spec_, End::driver);
  if (control().hear() != "there") throw std::runtime_error(spec_.kind + ": no partner");
}

Trial::~Trial() {
  thread_control_.reset();
  if (thread_.joinable()) thread_.join();
}

std::vector<double> Trial::run(Way way, std::size_t size, std::size_t count) {
  const std::size_t answer = way == Way::there_and_back ? size : kAnswer;
  control().say(
      fmt::format("{} {} {} {}", way == Way::one_way ? "take" : "echo", count, size, answer));
  static_cast<void>(control().hear());
  std::optional<Pinned> pinned;
  if (watches_memory(spec_)) pinned.emplace(0);
  std::vector<double> seconds(way == Way::one_way ? 1 : count);
  const std::int64_t start = now_ns();
  if (way == Way::one_way) {
    for (std::size_t i = 0; i < count; ++i) wire_->send(size);
    seconds[0] = static_cast<double>(std::stoll(control().hear()) - start) / 1e9;
    return seconds;
  }
  std::int64_t before = start;
  for (double& one : seconds) {
    way == Way::hand_over ? wire_->hand_over(size) : wire_->send(size);
    expect(wire_->receive(), answer);
    const std::int64_t after = now_ns();
    one = static_cast<double>(after - before) / 1e9;
    before = after;
  }
  static_cast<void>(control().hear());
  return seconds;
}

std::size_t Trial::count_for(Way way, std::size_t size, double seconds) {
  double& each = seconds_each_[{way, size}];
  if (each == 0) {
    const std::size_t moved = way == Way::hand_over ? kAnswer : size;
    const std::size_t tries = std::clamp<std::size_t>((std::size_t{4} << 20) / moved, 1, 4096);
    // Once to warm up, unless even that takes long.
    if (tries > 1) static_cast<void>(run(way, size, tries));
    auto tried = run(way, size, tries);
    each = way == Way::one_way ? tried[0] / static_cast<double>(tries) : percentile(tried, 0.5);
    each = std::max(each, 1e-8);
  }
  return std::clamp(static_cast<std::size_t>(seconds / each), fewest_, kMost);
}

double Trial::rate(std::size_t size, double seconds) {
  const std::size_t count = count_for(Way::one_way, size, seconds);
  return static_cast<double>(count) / run(Way::one_way, size, count)[0];
}

Trial::Latency Trial::latency(Way way, std::size_t size, double seconds) {
  auto each = run(way, size, count_for(way, size, seconds));
  return {percentile(each, 0.5) * 1e6, percentile(each, 0.99) * 1e6};
}

Trial::Latency Trial::round_trip(std::size_t size, double seconds) {
  return latency(Way::there_and_back, size, seconds);
}

Trial::Latency Trial::hand_over(std::size_t size, double seconds) {
  return latency(Way::hand_over, size, seconds);
}

}  // namespace muster::bench
