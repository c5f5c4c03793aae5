// Any text is either an event, which then reads back from what it writes, or a syntax error.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "muster/comm/errc.h"
#include "muster/comm/event/parse.h"

using muster::comm::Errc;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto event = muster::comm::parse_event(text);
  if (!event) {
    if (!event.error().is(Errc::event_syntax)) std::abort();
    return 0;
  }
  const auto again = muster::comm::parse_event(event->str());
  if (!again || *again != *event) std::abort();
  return 0;
}
