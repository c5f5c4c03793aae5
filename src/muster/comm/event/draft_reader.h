#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "muster/base/result.h"
#include "muster/comm/event/parse.h"

namespace muster::comm {

/// How much of an event its error message repeats.
inline constexpr std::size_t kMaxQuotedEvent = 200;

/// `text`, or its beginning and "…".
[[nodiscard]] std::string shortened(std::string text);

/// Reads the brackets, commas and quotes of a tuple: `tuple = "(" element {"," element} [","] ")"`,
/// where an element is a tuple, a quoted text (a backslash makes the next character ordinary) or a
/// bare text without ",()". What the texts say is `build_event`'s business.
[[nodiscard]] Result<EventDraft> read_draft(std::string_view text);

}  // namespace muster::comm
