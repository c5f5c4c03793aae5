#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/cluster/job/value.h"

namespace muster::cluster {

/// Builds a value from what a parser meets: `open`, `add` and `close` in the order of the text. In
/// a map, keys and values take turns. Keeps to the limits of yaml.h, and resolves aliases and merge
/// keys (`<<`).
class ValueBuilder {
 public:
  /// Thrown when it makes no sense to read on; the problem has been told.
  struct Stop {};
  /// What an alias refers to; 0 is none.
  using Anchor = std::size_t;

  explicit ValueBuilder(Problems& problems) : problems_(problems) {}

  void open(Value::Kind kind, std::size_t line, Anchor anchor = 0);
  void close();
  /// A null or scalar.
  void add(Value value, Anchor anchor = 0);
  void add_alias(std::size_t line, Anchor anchor);
  [[noreturn]] void stop(std::size_t line, std::string_view message);

  [[nodiscard]] Value take() { return std::move(root_); }

 private:
  /// A list or map that is not complete yet.
  struct Level {
    Value value;
    Anchor anchor = 0;
    std::size_t values_before = 0;
    std::optional<Value> key;                 // read, and its value is not
    std::map<std::string, std::size_t> keys;  // and their lines
    std::vector<Value> merged;                // values of `<<`
  };
  struct Anchored {
    Value value;
    std::size_t values;  // in it
  };

  void count(std::size_t line, std::size_t more);
  void finish(Value value, Anchor anchor, std::size_t values);
  void add_to_map(Level& level, Value value);
  void merge(Level& level, const Value& from);

  Problems& problems_;
  std::vector<Level> levels_;
  std::map<Anchor, Anchored> anchors_;
  std::size_t values_ = 0;    // so far
  std::size_t anchored_ = 0;  // values in anchors_
  Value root_;
};

}  // namespace muster::cluster
