#include "tests/sim/schedule_graphs.h"

#include <algorithm>
#include <utility>

namespace muster::sim {

using namespace engine;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  Random random(a * 0x9E3779B97F4A7C15ull ^ b);
  return random();
}

std::uint64_t value_of(std::uint32_t task, std::uint32_t output,
                       const std::vector<std::uint64_t>& inputs) {
  std::uint64_t value = mix(task, output);
  for (const std::uint64_t input : inputs) value = mix(value, input);
  return value;
}

namespace {

class Builder {
 public:
  /// `window`: how many of the latest chunks a task chooses its inputs from; the graph's width.
  Builder(Random& random, SimSession& session, std::vector<std::uint32_t> readable,
          std::size_t window)
      : random_(random), session_(session), open_(std::move(readable)), window_(window) {}

  void add(std::vector<std::uint32_t> inputs, std::uint32_t outputs, bool scatter) {
    SimTask task;
    task.first_chunk = static_cast<std::uint32_t>(session_.values.size());
    std::vector<std::uint64_t> values;
    for (const std::uint32_t input : inputs) {
      values.push_back(session_.values[input]);
      if (input >= first_) read_[input - first_] = true;
    }
    const auto index = static_cast<std::uint32_t>(session_.tasks.size());
    for (std::uint32_t i = 0; i < outputs; ++i) {
      const std::uint64_t estimate = random_.below(1000);
      task.spec.output_bytes.push_back(estimate);
      session_.known.push_back(estimate);
      session_.bytes.push_back(estimate + random_.below(100));
      session_.values.push_back(value_of(index, i, values));
      open_.push_back(task.first_chunk + i);
      read_.push_back(false);
    }
    task.spec.inputs = std::move(inputs);
    task.spec.operator_name = static_cast<std::uint32_t>(random_.below(2));
    task.spec.scatter = scatter;
    graph_.tasks.push_back(task.spec);
    session_.tasks.push_back(std::move(task));
  }

  std::uint32_t recent() {
    const std::size_t window = std::min(open_.size(), window_);
    return open_[open_.size() - 1 - random_.below(window)];
  }

  void shuffle(std::uint32_t mappers, std::uint32_t reducers) {
    const auto first = static_cast<std::uint32_t>(session_.values.size());
    for (std::uint32_t i = 0; i < mappers; ++i)
      add(open_.empty() ? std::vector<std::uint32_t>{} : std::vector{recent()}, reducers, true);
    for (std::uint32_t r = 0; r < reducers; ++r) {
      std::vector<std::uint32_t> inputs;
      for (std::uint32_t i = 0; i < mappers; ++i) inputs.push_back(first + i * reducers + r);
      add(std::move(inputs), 1, false);
    }
  }

  void plain() {
    std::vector<std::uint32_t> inputs;
    if (!open_.empty() && !random_.chance(0.3))
      for (std::uint64_t i = random_.below(4) + 1; i-- > 0;) inputs.push_back(recent());
    add(std::move(inputs), static_cast<std::uint32_t>(random_.below(8) == 0 ? 2 : 1), false);
  }

  GraphSubmitted take() {
    graph_.operator_names = {"add", "sum"};
    for (std::uint32_t i = 0; i < read_.size(); ++i)
      if (!read_[i]) graph_.wanted.push_back(first_ + i);
    for (int i = 0; i < 3; ++i) graph_.wanted.push_back(recent());
    return std::move(graph_);
  }

  std::size_t size() const { return graph_.tasks.size(); }

 private:
  Random& random_;
  SimSession& session_;
  std::vector<std::uint32_t> open_;
  std::size_t window_;
  std::uint32_t first_ = static_cast<std::uint32_t>(session_.values.size());
  std::vector<bool> read_;  ///< by chunk, from first_
  GraphSubmitted graph_;
};

}  // namespace

GraphSubmitted random_graph(Random& random, SimSession& session, int count,
                            std::vector<std::uint32_t> readable) {
  Builder builder(random, session, std::move(readable),
                  std::max<std::size_t>(20, static_cast<std::size_t>(count) / 50));
  builder.plain();
  while (builder.size() < static_cast<std::size_t>(count)) {
    if (random.chance(0.02))
      builder.shuffle(2 + static_cast<std::uint32_t>(random.below(4)),
                      2 + static_cast<std::uint32_t>(random.below(4)));
    else
      builder.plain();
  }
  return builder.take();
}

}  // namespace muster::sim
