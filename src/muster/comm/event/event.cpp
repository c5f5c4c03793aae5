#include "muster/comm/event/event.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/event/parse.h"

namespace muster::comm {
namespace {

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw EventSyntaxError(result.error());
  return *std::move(result);
}

std::size_t depth_over(const std::vector<Event>& operands) {
  std::size_t depth = 0;
  for (const Event& operand : operands) depth = std::max(depth, operand.depth());
  return depth + 1;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '\'';
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  out += '\'';
}

void append_element(std::string& out, const Event& event) {
  if (event.kind() == Event::Kind::unit) {
    append_quoted(out, event.unit().str());
    return;
  }
  out += '(';
  for (const Event& operand : event.operands()) {
    append_element(out, operand);
    out += ", ";
  }
  out += event.kind() == Event::Kind::all_of ? "'AND')" : "'OR')";
}

}  // namespace

std::optional<std::uint64_t> Amount::needed(std::size_t peers) const {
  if (kind == Kind::count) return value;
  if (peers == 0) return std::nullopt;
  return (value * peers + 99) / 100;
}

std::string Amount::str() const {
  return fmt::format("{}{}", value, kind == Kind::percentage ? "%" : "");
}

std::string UnitEvent::str() const {
  return fmt::format("{}:{}:{}", source.view(), tag.view(), amount.str());
}

Event::Event(const char* text) : Event(std::string_view(text)) {}
Event::Event(std::string_view text) : Event(or_throw(parse_event(text))) {}
Event::Event(const std::string& text) : Event(std::string_view(text)) {}
Event::Event(UnitEvent unit) : unit_(std::move(unit)) {}

Event::Event(Kind kind, std::vector<Event> operands)
    : kind_(kind), operands_(std::move(operands)), depth_(depth_over(operands_)) {
  if (kind_ == Kind::unit) throw std::invalid_argument("[event] a unit event has no operands");
  if (operands_.empty())
    throw std::invalid_argument("[event] AND and OR need at least one operand");
  if (depth_ > kMaxEventDepth) {
    throw std::invalid_argument(
        fmt::format("[event] nested {} deep; at most {} is possible", depth_, kMaxEventDepth));
  }
}

std::string Event::str() const {
  if (kind_ == Kind::unit) return unit_.str();
  std::string out;
  append_element(out, *this);
  return out;
}

namespace event {

Event unit(std::string_view text) { return Event(or_throw(parse_unit_event(text))); }

}  // namespace event

}  // namespace muster::comm
