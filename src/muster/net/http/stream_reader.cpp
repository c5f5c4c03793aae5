#include "muster/net/http/stream_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster::net {
namespace {

constexpr std::size_t kAhead = 16u << 10;

}  // namespace

StreamReader::StreamReader(ByteStream& stream, std::string_view ahead)
    : stream_(stream), bytes_(ahead.begin(), ahead.end()), end_(ahead.size()) {}

Result<bool> StreamReader::fill(TimePoint deadline) {
  if (begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
  }
  if (end_ == bytes_.size()) bytes_.resize(std::max(kAhead, 2 * bytes_.size()));
  const auto got =
      stream_.read_some(std::as_writable_bytes(std::span(bytes_).subspan(end_)), deadline);
  if (!got) return fail(got.error());
  end_ += *got;
  return *got > 0;
}

Result<std::size_t> StreamReader::read_some(std::span<std::byte> into, TimePoint deadline) {
  if (into.empty()) return 0;
  if (begin_ == end_ && into.size() >= kAhead) return stream_.read_some(into, deadline);
  if (begin_ == end_) {
    const auto more = fill(deadline);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return 0;
  }
  const std::size_t size = std::min(into.size(), end_ - begin_);
  std::memcpy(into.data(), bytes_.data() + begin_, size);
  begin_ += size;
  return size;
}

}  // namespace muster::net
