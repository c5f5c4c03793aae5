#include "muster/service/python/frames.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/runtime/mapping.h"

namespace muster::service {

namespace {

constexpr std::array<char, 4> kMagic = {'M', 'P', 'Y', 'F'};

/// Little-endian, like every machine that runs this.
struct Header {
  std::array<char, 4> magic = kMagic;
  std::uint32_t head_bytes = 0;
  std::uint64_t body_bytes = 0;
  std::uint32_t in_file = 0;
  std::uint32_t zero = 0;
};
static_assert(sizeof(Header) == 24);

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
}

void write_body(std::span<std::byte> body, std::string_view head, std::span<const ByteSpan> extra) {
  std::memcpy(body.data(), head.data(), head.size());
  const std::vector<std::size_t> starts = part_starts(extra);
  for (std::size_t i = 0; i < extra.size(); ++i)
    if (!extra[i].empty())
      std::memcpy(body.data() + head.size() + starts[i], extra[i].data(), extra[i].size());
}

tl::unexpected<Error> malformed(std::string_view what) {
  return fail(std::errc::bad_message,
              fmt::format("a Python process answered with what is no frame: {}", what));
}

Result<std::pair<ByteSpan, std::shared_ptr<const void>>> body_of(const Header& header,
                                                                 Packet packet) {
  if (header.in_file == 0) {
    auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(packet.bytes));
    return std::pair(ByteSpan(*bytes).subspan(sizeof(Header)), std::shared_ptr<const void>(bytes));
  }
  const int file = packet.files.front().get();
  const auto size = memory_file_bytes(file);
  if (!size) return fail(size.error());
  if (*size != header.body_bytes) return malformed(fmt::format("a file of {} bytes", *size));
  auto mapping = Mapping::map(file, *size, Populate::no, Access::read_only);
  if (!mapping) return fail(mapping.error());
  const auto owner = std::make_shared<const Mapping>(std::move(*mapping));
  return std::pair(ByteSpan(owner->bytes()), std::shared_ptr<const void>(owner));
}

}  // namespace

std::vector<std::size_t> part_starts(std::span<const ByteSpan> extra) {
  std::vector<std::size_t> starts;
  std::size_t end = 0;
  for (const ByteSpan part : extra) {
    starts.push_back(aligned(end));
    end = starts.back() + part.size();
  }
  return starts;
}

Result<PackedFrame> pack_frame(const nlohmann::json& head, std::span<const ByteSpan> extra) {
  std::string text = head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize(aligned(text.size()), ' ');
  Header header;
  header.head_bytes = static_cast<std::uint32_t>(text.size());
  header.body_bytes =
      text.size() + (extra.empty() ? 0 : part_starts(extra).back() + extra.back().size());
  header.in_file = header.body_bytes > kMostInline ? 1 : 0;

  PackedFrame frame;
  frame.packet.resize(sizeof header + (header.in_file != 0 ? 0 : header.body_bytes));
  std::memcpy(frame.packet.data(), &header, sizeof header);
  if (header.in_file == 0) {
    write_body(std::span(frame.packet).subspan(sizeof header), text, extra);
    return frame;
  }
  auto file = create_memory_file("muster-call", header.body_bytes);
  if (!file) return fail(file.error());
  const auto mapping = Mapping::map(file->get(), header.body_bytes);
  if (!mapping) return fail(mapping.error());
  write_body(mapping->bytes(), text, extra);
  frame.file = std::move(*file);
  return frame;
}

Result<Frame> read_frame(Packet packet) {
  Header header;
  if (packet.truncated || packet.bytes.size() < sizeof header) return malformed("it is cut off");
  std::memcpy(&header, packet.bytes.data(), sizeof header);
  if (header.magic != kMagic || header.zero != 0) return malformed("it is of another kind");
  if (header.in_file > 1 || packet.files.size() != header.in_file)
    return malformed(fmt::format("it comes with {} files", packet.files.size()));
  auto body = body_of(header, std::move(packet));
  if (!body) return fail(body.error());
  const ByteSpan bytes = body->first;
  if (bytes.size() != header.body_bytes || header.head_bytes > bytes.size())
    return malformed(fmt::format("it has {} bytes", bytes.size()));
  Frame frame;
  frame.head = nlohmann::json::parse(as_text(bytes.first(header.head_bytes)), nullptr, false);
  if (!frame.head.is_object()) return malformed("its head is not an object");
  frame.extra = bytes.subspan(header.head_bytes);
  frame.owner = std::move(body->second);
  return frame;
}

}  // namespace muster::service
