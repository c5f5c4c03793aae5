#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/name.h"
#include "muster/base/result.h"

namespace muster::comm {

/// The source or tag that matches all.
inline constexpr std::string_view kAnything = "*";

/// Tuples in tuples, at most: reading, building and freeing an event recurse.
inline constexpr std::size_t kMaxEventDepth = 64;

/// How many messages a unit event asks for: so many, or a share of the peers.
struct Amount {
  enum class Kind : std::uint8_t { count, percentage };

  std::uint64_t value = 1;
  Kind kind = Kind::count;

  /// Messages needed while `peers` peers match. A share is rounded up; nothing when it is a share
  /// of no peers.
  [[nodiscard]] std::optional<std::uint64_t> needed(std::size_t peers) const;
  /// "10" or "60%".
  [[nodiscard]] std::string str() const;
  bool operator==(const Amount&) const = default;
};

/// `source:tag:amount`. The source is a peer type, a peer name or `*`; the tag a tag or `*`; both
/// match exactly.
struct UnitEvent {
  Name source;
  Name tag;
  Amount amount;

  [[nodiscard]] std::string str() const;
  bool operator==(const UnitEvent&) const = default;
};

/// The exception for an event that cannot be read where a program spells it out. Says where and
/// why.
class EventSyntaxError : public std::invalid_argument {
 public:
  explicit EventSyntaxError(const Error& error) : std::invalid_argument(error.message()) {}
};

/// A conditional event: the messages that must have come before a handler is called. A unit event,
/// or several events of which all or any must be satisfied. An immutable value.
///
/// A text converts by itself, so that `table.on("worker:update:60%", f)` works; where the text
/// comes from outside the program, use `parse_event` (parse.h), which returns the failure instead
/// of throwing it.
class Event {
 public:
  enum class Kind : std::uint8_t { unit, all_of, any_of };

  Event(const char* text);         // NOLINT(google-explicit-constructor)
  Event(std::string_view text);    // NOLINT(google-explicit-constructor)
  Event(const std::string& text);  // NOLINT(google-explicit-constructor)
  explicit Event(UnitEvent unit);
  /// Throws std::invalid_argument without operands, or beyond `kMaxEventDepth`.
  Event(Kind kind, std::vector<Event> operands);

  [[nodiscard]] Kind kind() const { return kind_; }
  /// Only of a unit.
  [[nodiscard]] const UnitEvent& unit() const { return unit_; }
  /// Empty for a unit.
  [[nodiscard]] const std::vector<Event>& operands() const { return operands_; }
  /// Tuples around the innermost unit.
  [[nodiscard]] std::size_t depth() const { return depth_; }

  /// "('a:b:1', ('c:d:2', 'e:f:1', 'OR'), 'AND')": as Python prints it, and as `parse_event` reads
  /// it.
  [[nodiscard]] std::string str() const;

  bool operator==(const Event&) const = default;

 private:
  Kind kind_ = Kind::unit;
  UnitEvent unit_;
  std::vector<Event> operands_;
  std::size_t depth_ = 0;
};

namespace event {

/// One unit event; throws EventSyntaxError.
[[nodiscard]] Event unit(std::string_view text);

/// Satisfied when every operand is: `all_of("a:b:1", any_of("c:d:2", "e:f:60%"))`.
template <std::convertible_to<Event>... Events>
  requires(sizeof...(Events) > 0)
[[nodiscard]] Event all_of(Events&&... events) {
  return {Event::Kind::all_of, {Event(std::forward<Events>(events))...}};
}

/// Satisfied when one operand is; the first one that is, in this order, is taken.
template <std::convertible_to<Event>... Events>
  requires(sizeof...(Events) > 0)
[[nodiscard]] Event any_of(Events&&... events) {
  return {Event::Kind::any_of, {Event(std::forward<Events>(events))...}};
}

}  // namespace event

}  // namespace muster::comm
