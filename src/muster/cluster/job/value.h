#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "muster/cluster/job/read.h"

namespace muster::cluster {

struct Member;

/// A piece of a description as it was written, before anybody knows what it means.
struct Value {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  std::size_t line = 0;  ///< from 1; 0 for what was stored as JSON
  std::string text;      ///< of a scalar
  bool quoted = false;   ///< a scalar that is a text even if it looks like a number
  std::vector<Value> items;
  std::vector<Member> members;  ///< in the order of the file; no key twice

  [[nodiscard]] const Member* find(std::string_view key) const;
  /// "'five'", "a list", "a map" or "nothing"; long texts are cut, odd characters replaced.
  [[nodiscard]] std::string shown() const;
};

struct Member {
  std::string key;
  std::size_t line = 0;
  Value value;
};

/// How deep lists and maps are nested; 0 for a scalar.
std::size_t depth(const Value& value);

/// A text for a message: in quotes, cut if long.
std::string quoted_text(std::string_view text);

/// What is wrong with a description; the first hundred of it. Each is one line, whatever the text
/// that it is about holds.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  void add(std::size_t line, std::string_view field, std::string_view message);
  [[nodiscard]] bool empty() const { return list_.empty(); }
  /// In the order of the file.
  [[nodiscard]] std::vector<SpecProblem> sorted() const;

 private:
  std::string file_;
  std::vector<SpecProblem> list_;
};

}  // namespace muster::cluster
