#include "muster/comm/link/hello.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "muster/comm/errc.h"

namespace muster::comm {

std::string encode_hello(std::string_view group, const Entry& entry) {
  const auto group_bytes = static_cast<std::uint32_t>(group.size());
  std::string payload(sizeof group_bytes, '\0');
  std::memcpy(payload.data(), &group_bytes, sizeof group_bytes);
  return payload.append(group).append(entry.to_json());
}

Result<Hello> decode_hello(ByteSpan payload) {
  std::uint32_t group_bytes = 0;
  if (payload.size() < sizeof group_bytes) return fail(Errc::malformed, "a hello without a group");
  std::memcpy(&group_bytes, payload.data(), sizeof group_bytes);
  payload = payload.subspan(sizeof group_bytes);
  if (group_bytes > payload.size())
    return fail(Errc::malformed, "a hello whose group is longer than itself");
  auto entry = Entry::from_json(as_text(payload.subspan(group_bytes)));
  if (!entry) return fail(std::move(entry).error());
  return Hello{.group = std::string(as_text(payload.first(group_bytes))),
               .entry = *std::move(entry)};
}

}  // namespace muster::comm
