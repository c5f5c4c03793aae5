#include "muster/cluster/job/value.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::cluster {
namespace {

constexpr std::size_t kMaxShown = 60;
constexpr std::size_t kMaxField = 200;
constexpr std::size_t kMaxMessage = 500;
constexpr std::size_t kMaxProblems = 100;

/// One line, without characters that a terminal would obey.
std::string printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = c == '\n' ? ' ' : '?';
  }
  return text;
}

/// The beginning of a text; a character of several bytes is not cut in half.
std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "…";
}

}  // namespace

const Member* Value::find(std::string_view key) const {
  const auto found = std::ranges::find(members, key, &Member::key);
  return found == members.end() ? nullptr : &*found;
}

std::size_t depth(const Value& value) {
  std::size_t inner = 0;
  for (const Value& item : value.items) inner = std::max(inner, depth(item));
  for (const Member& member : value.members) inner = std::max(inner, depth(member.value));
  const bool nested = value.kind == Value::Kind::list || value.kind == Value::Kind::map;
  return nested ? inner + 1 : 0;
}

std::string quoted_text(std::string_view text) {
  return fmt::format("'{}'", printable(shortened(text, kMaxShown)));
}

std::string Value::shown() const {
  switch (kind) {
    case Kind::null: return "nothing";
    case Kind::scalar: return quoted_text(text);
    case Kind::list: return "a list";
    case Kind::map: return "a map";
  }
  return "";
}

void Problems::add(std::size_t line, std::string_view field, std::string_view message) {
  if (list_.size() > kMaxProblems) return;
  if (list_.size() == kMaxProblems) {
    list_.push_back({file_, line, "", "and more; mend these first"});
    return;
  }
  list_.push_back({file_, line, printable(shortened(field, kMaxField)),
                   printable(shortened(message, kMaxMessage))});
}

std::vector<SpecProblem> Problems::sorted() const {
  std::vector<std::pair<std::size_t, std::size_t>> order;  // line and position
  for (std::size_t i = 0; i < list_.size(); ++i) order.emplace_back(list_[i].line, i);
  std::ranges::sort(order);
  std::vector<SpecProblem> result;
  for (const auto& [line, position] : order) result.push_back(list_[position]);
  return result;
}

}  // namespace muster::cluster
