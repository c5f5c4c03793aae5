#include "muster/net/http/whole_body.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "muster/net/errc.h"

namespace muster::net {
namespace {

constexpr std::size_t kFirstRoom = 64u << 10;

// Memory that is not written before the bytes come: the kernel gives its pages only then.
std::shared_ptr<std::byte[]> room_for(std::size_t bytes) {
  return std::make_unique_for_overwrite<std::byte[]>(bytes);
}

tl::unexpected<Error> too_large(std::size_t most) {
  return fail(Errc::too_large, fmt::format("the body has more than {} bytes", most));
}

}  // namespace

Result<Buffer> read_whole_body(
    std::optional<std::uint64_t> length, std::size_t most,
    const std::function<Result<std::size_t>(std::span<std::byte>)>& read) {
  if (length.value_or(0) > most) return too_large(most);
  // One byte more than may be, to see whether there is more.
  std::size_t size = length ? static_cast<std::size_t>(*length) + 1 : kFirstRoom;
  std::size_t used = 0;
  auto room = room_for(size);
  for (;;) {
    const auto got = read({room.get() + used, size - used});
    if (!got) return fail(got.error());
    if (*got == 0) break;
    used += *got;
    if (used > most) return too_large(most);
    if (used < size) continue;
    auto larger = room_for(2 * size);
    std::memcpy(larger.get(), room.get(), used);
    room = std::move(larger);
    size *= 2;
  }
  const ByteSpan bytes(room.get(), used);
  return used <= Buffer::kInline ? Buffer::copy_of(bytes) : Buffer::share(bytes, std::move(room));
}

}  // namespace muster::net
