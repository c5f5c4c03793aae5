#include "muster/comm/driver/shm/short_frame.h"

#include <atomic>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/driver/shm/frame.h"
#include "muster/comm/errc.h"

namespace muster::comm::shm {
namespace {

constexpr std::size_t kMostTagBytes = std::numeric_limits<std::uint8_t>::max();
constexpr std::uint64_t kLargestNumber = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint8_t kPadding = 7;

template <class Id>
bool fits(const Id& id, InstanceId sender) {
  return id.origin == sender && id.number <= kLargestNumber;
}

bool is_session(std::uint8_t session) {
  const unsigned type = session & 0xFu;
  const unsigned last = static_cast<unsigned>(type == static_cast<unsigned>(SessionType::task)
                                                  ? SessionStage::complete
                                                  : SessionStage::receive);
  return type <= static_cast<unsigned>(SessionType::notification) && session >> 4u <= last;
}

bool is_body(std::uint8_t type) {
  return type <= static_cast<std::uint8_t>(BodyType::python) &&
         type != static_cast<std::uint8_t>(BodyType::array);
}

bool makes_sense(const ShortHead& head, std::size_t bytes) {
  return head.bytes == bytes && (head.mark & ~kPadding) == kShortMark &&
         sizeof head + head.tag_bytes + (head.mark & kPadding) <= bytes &&
         is_body(head.body_type) && is_session(head.session) && head.session_number != 0 &&
         head.message_number != 0;
}

}  // namespace

std::size_t short_frame_bytes(const Message& message, InstanceId sender) {
  const Body& body = message.body;
  const std::size_t tag = message.tag.size();
  if (body.type() == BodyType::array || body.buffer_count() != 1 || tag > kMostTagBytes ||
      !message.tag_origin.empty() || !fits(message.session_id, sender) ||
      !fits(message.message_id, sender)) {
    return 0;
  }
  return round_up(sizeof(ShortHead) + tag + body.buffer().size(), 8);
}

void encode_short_frame(const Message& message, std::size_t bytes, std::byte* out) {
  const Buffer& body = message.body.buffer();
  const std::string_view tag = message.tag;
  const std::size_t padding = bytes - sizeof(ShortHead) - tag.size() - body.size();
  const auto at = [](std::uint64_t value, unsigned bit) { return value << bit; };
  // A `ShortHead`, put together in words: one made of bytes would be copied before it is in the
  // cache.
  const std::uint64_t words[] = {
      at(bytes, 0) | at(tag.size(), 32) |
          at(static_cast<unsigned>(message.session_type) |
                 static_cast<unsigned>(message.session_stage) << 4u,
             40) |
          at(static_cast<unsigned>(message.body.type()), 48) | at(kShortMark | padding, 56),
      at(message.session_id.number, 0) | at(message.message_id.number, 32)};
  std::memcpy(out, &words[0], sizeof words[0]);
  std::memcpy(out + sizeof words[0], &words[1], sizeof words[1]);
  out = copy_fresh(out + sizeof(ShortHead), as_bytes(tag).data(), tag.size());
  copy_fresh(out, body.data(), body.size());
}

Result<void> ShortFrameReader::read(ByteSpan frame, Message& message) {
  ShortHead head{};
  if (frame.size() >= sizeof head) std::memcpy(&head, frame.data(), sizeof head);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // it is not read again after the checks
  if (!makes_sense(head, frame.size())) [[unlikely]]
    return fail(Errc::malformed,
                fmt::format("a short frame of {} bytes whose head makes no sense", frame.size()));
  const std::string_view tag = as_text(frame.subspan(sizeof head, head.tag_bytes));
  if (last_tag_ != tag) [[unlikely]]
    last_tag_ = Name(tag);
  message.tag = last_tag_;
  message.tag_origin = Name();
  message.session_id = {sender_, head.session_number};
  message.message_id = {sender_, head.message_number};
  message.session_type = static_cast<SessionType>(head.session & 0xFu);
  message.session_stage = static_cast<SessionStage>(head.session >> 4u);
  const std::size_t before = sizeof head + head.tag_bytes;
  const ByteSpan body = frame.subspan(before, frame.size() - before - (head.mark & kPadding));
  const auto type = static_cast<BodyType>(head.body_type);
  if (type == BodyType::python) {
    message.body = Body::python(Buffer::copy_of(body), {});
  } else {
    message.body.assign_plain(type, body);
  }
  return {};
}

}  // namespace muster::comm::shm
