#include "muster/comm/message/record.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

// The fixed part, as it lies on the wire: little endian, no padding. What follows it, in this
// order, each part only where it is announced: session origin, message origin (8 bytes each), sizes
// of the buffers after the first, extents of the array (8 bytes each), dtype, tag, tag origin
// (text).
struct Fixed {
  std::uint32_t record_bytes;
  std::uint8_t flags;
  std::uint8_t session;  // type in the low four bits, stage in the high four
  std::uint8_t body_type;
  std::uint8_t dtype_bytes;
  std::uint16_t tag_bytes;
  std::uint16_t tag_origin_bytes;
  std::uint16_t dimensions;
  std::uint16_t buffers;
  std::uint64_t session_number;
  std::uint64_t message_number;
  std::uint64_t first_bytes;
};
static_assert(sizeof(Fixed) == 40);
static_assert(std::endian::native == std::endian::little,
              "records are written as they lie in memory");

constexpr std::uint8_t kForeignSession = 1;
constexpr std::uint8_t kForeignMessage = 2;
constexpr std::uint8_t kKnownFlags = kForeignSession | kForeignMessage;

class Writer {
 public:
  explicit Writer(std::byte* out) : out_(out) {}

  template <class T>
  void value(const T& value) {
    std::memcpy(out_, &value, sizeof value);
    out_ += sizeof value;
  }
  void text(std::string_view text) { out_ = copy_fresh(out_, as_bytes(text).data(), text.size()); }
  [[nodiscard]] std::byte* end() const { return out_; }

 private:
  std::byte* out_;
};

// Takes parts off the front. The caller has checked that the parts announced add up to the whole.
class Reader {
 public:
  explicit Reader(ByteSpan bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text(std::size_t size) { return as_text(take(size)); }

 private:
  ByteSpan take(std::size_t size) {
    const ByteSpan part = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return part;
  }

  ByteSpan bytes_;
};

tl::unexpected<Error> malformed(std::string message) {
  return fail(Errc::malformed, std::move(message));
}

std::size_t variable_bytes(const Fixed& fixed) {
  const std::size_t origins = ((fixed.flags & kForeignSession) != 0 ? 1u : 0u) +
                              ((fixed.flags & kForeignMessage) != 0 ? 1u : 0u);
  return 8 * (origins + fixed.buffers - 1u + fixed.dimensions) + fixed.dtype_bytes +
         fixed.tag_bytes + fixed.tag_origin_bytes;
}

Result<void> check_fixed(const Fixed& fixed, std::size_t available) {
  if (fixed.record_bytes != available)
    return malformed(
        fmt::format("a record says {} bytes and has {}", fixed.record_bytes, available));
  if ((fixed.flags & ~kKnownFlags) != 0)
    return malformed(fmt::format("unknown record flags {:#x}", fixed.flags));
  if (fixed.body_type > static_cast<std::uint8_t>(BodyType::python))
    return malformed(fmt::format("unknown body type {}", fixed.body_type));
  if (fixed.buffers == 0 || fixed.buffers > kMaxBuffers)
    return malformed(fmt::format("{} buffers", fixed.buffers));
  if (fixed.dimensions > kMaxDimensions)
    return malformed(fmt::format("{} dimensions", fixed.dimensions));
  if (fixed.tag_bytes > kMaxTagBytes || fixed.tag_origin_bytes > kMaxTagBytes)
    return malformed("the tag is too long");
  if (sizeof(Fixed) + variable_bytes(fixed) != available)
    return malformed("the parts of a record do not add up to its length");
  if (fixed.session_number == 0 || fixed.message_number == 0) return malformed("an id is 0");
  const auto type = static_cast<BodyType>(fixed.body_type);
  if (type != BodyType::array && (fixed.dimensions != 0 || fixed.dtype_bytes != 0))
    return malformed("a shape without an array");
  if (type != BodyType::python && fixed.buffers != 1)
    return malformed("several buffers in a body that has one");
  return {};
}

Result<void> decode_session(const Fixed& fixed, Message& message) {
  const unsigned type = fixed.session & 0xFu;
  const unsigned stage = static_cast<unsigned>(fixed.session) >> 4u;
  const unsigned last = type == static_cast<unsigned>(SessionType::task)
                            ? static_cast<unsigned>(SessionStage::complete)
                            : static_cast<unsigned>(SessionStage::receive);
  if (type > static_cast<unsigned>(SessionType::notification) || stage > last) {
    return malformed(fmt::format("session byte {:#04x} is no type and stage", fixed.session));
  }
  message.session_type = static_cast<SessionType>(type);
  message.session_stage = static_cast<SessionStage>(stage);
  return {};
}

Result<void> decode_sizes(const Fixed& fixed, Reader& reader, BodyLayout& body) {
  body.first_bytes = fixed.first_bytes;
  if (body.first_bytes > kMaxBodyBytes)
    return malformed(fmt::format("a buffer of {} bytes", body.first_bytes));
  std::uint64_t total = body.first_bytes;
  body.more_bytes.clear();
  for (unsigned i = 1; i < fixed.buffers; ++i) {
    const std::uint64_t bytes = reader.number();
    if (bytes > kMaxBodyBytes || (total += bytes) > kMaxBodyBytes)
      return malformed("the buffers are larger than any body may be");
    body.more_bytes.push_back(bytes);
  }
  return {};
}

Result<void> decode_array(const Fixed& fixed, Reader& reader, BodyLayout& body) {
  body.shape.clear();
  if (body.body_type != BodyType::array) return {};
  for (unsigned i = 0; i < fixed.dimensions; ++i)
    body.shape.push_back(static_cast<std::int64_t>(reader.number()));
  const std::string dtype_text(reader.text(fixed.dtype_bytes));
  auto dtype = DType::parse(dtype_text);
  if (!dtype) return fail(std::move(dtype).error());
  body.dtype = *std::move(dtype);
  if (array_bytes(body.dtype, body.shape) != body.first_bytes)
    return malformed("the array's shape and size differ");
  return {};
}

const Name& remembered(std::string_view text, Name& last) {
  if (text.empty() ? !last.empty() : last != text) [[unlikely]]
    last = Name(text);
  return last;
}

}  // namespace

Result<void> check_encodable(const Message& message) {
  if (message.tag.size() > kMaxTagBytes || message.tag_origin.size() > kMaxTagBytes) {
    return malformed(fmt::format("the tag has {} bytes; at most {} can be sent", message.tag.size(),
                                 kMaxTagBytes));
  }
  if (message.body.buffer_count() > kMaxBuffers) {
    return malformed(fmt::format("the body has {} buffers; at most {} can be sent",
                                 message.body.buffer_count(), kMaxBuffers));
  }
  if (message.body.size() > kMaxBodyBytes) {
    return malformed(fmt::format("the body has {} bytes; at most {} can be sent",
                                 message.body.size(), kMaxBodyBytes));
  }
  if (message.body.type() == BodyType::array && message.body.shape().size() > kMaxDimensions) {
    return malformed(fmt::format("the array has {} dimensions; at most {} can be sent",
                                 message.body.shape().size(), kMaxDimensions));
  }
  return {};
}

std::size_t record_bytes(const Message& message, InstanceId sender) {
  std::size_t words = message.body.buffer_count() - 1;
  words += message.session_id.origin != sender ? 1 : 0;
  words += message.message_id.origin != sender ? 1 : 0;
  std::size_t bytes = sizeof(Fixed) + message.tag.size() + message.tag_origin.size();
  if (message.body.type() == BodyType::array) {
    words += message.body.shape().size();
    bytes += message.body.dtype().str().size();
  }
  return bytes + 8 * words;
}

void encode_record(const Message& message, InstanceId sender, std::byte* out) {
  const bool is_array = message.body.type() == BodyType::array;
  const bool foreign_session = message.session_id.origin != sender;
  const bool foreign_message = message.message_id.origin != sender;
  const auto at = [](std::uint64_t value, unsigned bit) { return value << bit; };
  // A `Fixed`, put together in words: one made of bytes would be copied before it is in the cache.
  // The first has the length, which is known at the end.
  const std::uint64_t first =
      at((foreign_session ? kForeignSession : 0) | (foreign_message ? kForeignMessage : 0), 32) |
      at(static_cast<unsigned>(message.session_type) | static_cast<unsigned>(message.session_stage)
                                                           << 4u,
         40) |
      at(static_cast<unsigned>(message.body.type()), 48) |
      at(is_array ? message.body.dtype().str().size() : 0, 56);
  Writer writer(out + sizeof first);
  writer.value(at(message.tag.size(), 0) | at(message.tag_origin.size(), 16) |
               at(is_array ? message.body.shape().size() : 0, 32) |
               at(message.body.buffer_count(), 48));
  writer.value(message.session_id.number);
  writer.value(message.message_id.number);
  writer.value(std::uint64_t{message.body.buffer().size()});
  if (foreign_session) writer.value(message.session_id.origin.value());
  if (foreign_message) writer.value(message.message_id.origin.value());
  for (std::size_t i = 1; i < message.body.buffer_count(); ++i)
    writer.value(std::uint64_t{message.body.buffer(i).size()});
  if (is_array) {
    for (const std::int64_t extent : message.body.shape()) writer.value(extent);
    writer.text(message.body.dtype().str());
  }
  writer.text(message.tag);
  writer.text(message.tag_origin);
  Writer(out).value(first | at(static_cast<std::uint64_t>(writer.end() - out), 0));
}

std::uint64_t BodyLayout::total_bytes() const {
  std::uint64_t total = first_bytes;
  for (const std::uint64_t bytes : more_bytes) total += bytes;
  return total;
}

void BodyLayout::fill(Body& body, Buffer&& first, std::vector<Buffer> more) {
  MUSTER_ASSERT(first.size() == first_bytes && more.size() == more_bytes.size(),
                "drivers deliver the buffers that the record announces");
  switch (body_type) {
    case BodyType::bytes:
    case BodyType::text:
    case BodyType::json: body = Body::plain(body_type, std::move(first)); break;
    case BodyType::array:
      body = Body::array(std::move(dtype), std::move(shape), std::move(first));
      break;
    case BodyType::python: body = Body::python(std::move(first), std::move(more)); break;
  }
}

void BodyLayout::fill_with_copy(Body& body, ByteSpan only) {
  if (body_type == BodyType::array || body_type == BodyType::python)
    return fill(body, Buffer::copy_of(only));
  MUSTER_ASSERT(only.size() == first_bytes && more_bytes.empty(),
                "drivers deliver the buffers that the record announces");
  body.assign_plain(body_type, only);
}

Result<std::size_t> RecordDecoder::length(ByteSpan bytes) {
  if (bytes.size() < sizeof(Fixed))
    return malformed(fmt::format("{} bytes are too few for a record", bytes.size()));
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length < sizeof(Fixed) || length > bytes.size() || length > kMaxRecordBytes) {
    return malformed(fmt::format("a record says {} bytes where {} are left", length, bytes.size()));
  }
  return length;
}

Result<void> RecordDecoder::decode(ByteSpan bytes, Message& message, BodyLayout& body) {
  if (bytes.size() < sizeof(Fixed))
    return malformed(fmt::format("{} bytes are too few for a record", bytes.size()));
  Fixed fixed;
  std::memcpy(&fixed, bytes.data(), sizeof fixed);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // it is not read again after the checks
  if (auto ok = check_fixed(fixed, bytes.size()); !ok) return ok;
  if (auto ok = decode_session(fixed, message); !ok) return ok;
  Reader reader(bytes.subspan(sizeof fixed));
  const InstanceId session_origin =
      (fixed.flags & kForeignSession) != 0 ? InstanceId(reader.number()) : sender_;
  const InstanceId message_origin =
      (fixed.flags & kForeignMessage) != 0 ? InstanceId(reader.number()) : sender_;
  message.session_id = {session_origin, fixed.session_number};
  message.message_id = {message_origin, fixed.message_number};
  body.body_type = static_cast<BodyType>(fixed.body_type);
  if (auto ok = decode_sizes(fixed, reader, body); !ok) return ok;
  if (auto ok = decode_array(fixed, reader, body); !ok) return ok;
  message.tag = remembered(reader.text(fixed.tag_bytes), last_tag_);
  message.tag_origin = remembered(reader.text(fixed.tag_origin_bytes), last_tag_origin_);
  return {};
}

}  // namespace muster::comm
