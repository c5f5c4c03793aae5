#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/event/event.h"

namespace muster::comm {

/// An event as somebody wrote it, not yet checked: a text, or a tuple whose last element is the
/// operator. Python's nested tuples become this, and whoever makes one keeps it from nesting deeper
/// than `kMaxEventDepth`.
struct EventDraft {
  std::string text;
  std::vector<EventDraft> elements;
  bool is_tuple = false;

  [[nodiscard]] static EventDraft of(std::string text) { return {std::move(text), {}, false}; }
  [[nodiscard]] static EventDraft tuple(std::vector<EventDraft> elements) {
    return {{}, std::move(elements), true};
  }
};

/// Reads `source:tag:amount`. The source and the tag are not empty and have no ':' and no space
/// around them; the amount is a number of at least 1, or a percentage from 1% to 100%.
/// `Errc::event_syntax` names the event and the offset of the first character that is wrong, from
/// 0.
[[nodiscard]] Result<UnitEvent> parse_unit_event(std::string_view text);

/// Checks a draft. The operators are AND, &&, OR and ||. A failure names the whole event, the way
/// to the wrong element (from 1) and the offset in it: "event ('a:b:1', ('c:d', 'OR'), 'AND'):
/// element 2, element 1, offset 3: …".
[[nodiscard]] Result<Event> build_event(const EventDraft& draft);

/// Reads what `Event::str` writes: one unit event, or, when it begins with '(', a tuple. Inside a
/// tuple, quotes (' or ") may be left out around texts without ",()": `(worker:update:60%,
/// learner:stop:1, OR)`.
[[nodiscard]] Result<Event> parse_event(std::string_view text);

}  // namespace muster::comm
