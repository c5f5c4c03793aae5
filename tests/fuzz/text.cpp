// Any text that stands in a store, an option or a message is read or refused, and what is read can
// be written and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "muster/comm/discovery/entry.h"
#include "muster/comm/message/dtype.h"
#include "muster/comm/message/ids.h"
#include "muster/net/redis/redis_address.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::comm;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto entry = Entry::from_json(text)) {
    if (!Entry::from_json(entry->to_json())) std::abort();
  }
  if (const auto id = SessionId::parse(text)) {
    if (SessionId::parse(id->str()) != id) std::abort();
  }
  if (const auto dtype = DType::parse(text)) {
    if (!(*DType::parse(dtype->str()) == *dtype)) std::abort();
  }
  static_cast<void>(muster::net::RedisAddress::parse(text));
  return 0;
}
