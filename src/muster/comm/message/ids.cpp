#include "muster/comm/message/ids.h"

#include <charconv>

#include <fmt/format.h>

#include "muster/base/random.h"

namespace muster::comm {

InstanceId new_instance_id() {
  std::uint64_t value = 0;
  while (value == 0) value = secure_random_u64();
  return InstanceId(value);
}

template <class Tag>
std::string OriginId<Tag>::str() const {
  return fmt::format("{:016x}-{:x}", origin.value(), number);
}

template <class Tag>
std::optional<OriginId<Tag>> OriginId<Tag>::parse(std::string_view text) {
  constexpr std::size_t kOriginDigits = 16;
  if (text.size() < kOriginDigits + 2 || text[kOriginDigits] != '-') return std::nullopt;
  std::uint64_t origin = 0;
  std::uint64_t number = 0;
  const char* const dash = text.data() + kOriginDigits;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), dash, origin, 16);
  const auto second = std::from_chars(dash + 1, end, number, 16);
  if (first.ec != std::errc{} || first.ptr != dash || second.ec != std::errc{} || second.ptr != end)
    return std::nullopt;
  return OriginId{InstanceId(origin), number};
}

template struct OriginId<SessionIdTag>;
template struct OriginId<MessageIdTag>;

}  // namespace muster::comm
