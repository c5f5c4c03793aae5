#include "muster/cluster/job/value_builder.h"

#include <utility>

#include <fmt/format.h>

#include "muster/cluster/job/yaml.h"

namespace muster::cluster {

void ValueBuilder::stop(std::size_t line, std::string_view message) {
  problems_.add(line, "", message);
  throw Stop();
}

void ValueBuilder::count(std::size_t line, std::size_t more) {
  values_ += more;
  if (values_ <= kMaxSpecValues) return;
  stop(line,
       fmt::format("more than {} values, those of an alias counted each time", kMaxSpecValues));
}

void ValueBuilder::open(Value::Kind kind, std::size_t line, Anchor anchor) {
  if (levels_.size() >= kMaxSpecDepth) {
    stop(line, fmt::format("lists and maps are nested more than {} deep", kMaxSpecDepth));
  }
  Level level;
  level.value.kind = kind;
  level.value.line = line;
  level.anchor = anchor;
  level.values_before = values_;
  levels_.push_back(std::move(level));
}

void ValueBuilder::close() {
  Level level = std::move(levels_.back());
  levels_.pop_back();
  for (const Value& from : level.merged) merge(level, from);
  const std::size_t inside = values_ - level.values_before;
  finish(std::move(level.value), level.anchor, inside + 1);
}

void ValueBuilder::add(Value value, Anchor anchor) { finish(std::move(value), anchor, 1); }

void ValueBuilder::add_alias(std::size_t line, Anchor anchor) {
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) stop(line, "an alias cannot refer to what it stands in");
  count(line, found->second.values);
  // The alias itself is counted once more, which does no harm.
  if (levels_.size() + depth(found->second.value) > kMaxSpecDepth) {
    stop(line, fmt::format("lists and maps are nested more than {} deep", kMaxSpecDepth));
  }
  finish(found->second.value, 0, 1);
}

void ValueBuilder::finish(Value value, Anchor anchor, std::size_t values) {
  count(value.line, 1);
  if (anchor != 0) {
    anchored_ += values;
    if (anchored_ > kMaxSpecValues) stop(value.line, "too many anchors inside each other");
    anchors_[anchor] = {value, values};
  }
  if (levels_.empty()) {
    root_ = std::move(value);
  } else if (levels_.back().value.kind == Value::Kind::list) {
    levels_.back().value.items.push_back(std::move(value));
  } else {
    add_to_map(levels_.back(), std::move(value));
  }
}

void ValueBuilder::add_to_map(Level& level, Value value) {
  if (!level.key) {
    level.key = std::move(value);
    return;
  }
  Value key = std::move(*level.key);
  level.key.reset();
  if (key.kind != Value::Kind::scalar) {
    problems_.add(key.line, "", fmt::format("a key has to be a text, not {}", key.shown()));
    return;
  }
  if (key.text == "<<" && !key.quoted) {
    level.merged.push_back(std::move(value));
    return;
  }
  const auto [before, first] = level.keys.emplace(key.text, key.line);
  if (first) {
    level.value.members.push_back({std::move(key.text), key.line, std::move(value)});
  } else {
    problems_.add(
        key.line, "",
        fmt::format("key {} comes twice; the first is in line {}", key.shown(), before->second));
  }
}

void ValueBuilder::merge(Level& level, const Value& from) {
  if (from.kind == Value::Kind::list) {
    for (const Value& each : from.items) merge(level, each);
    return;
  }
  if (from.kind != Value::Kind::map) {
    problems_.add(from.line, "",
                  fmt::format("'<<' takes a map or a list of maps, not {}", from.shown()));
  }
  for (const Member& member : from.members) {
    if (level.keys.emplace(member.key, member.line).second) level.value.members.push_back(member);
  }
}

}  // namespace muster::cluster
