#include "muster/comm/driver/shm/packets.h"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/comm/errc.h"

namespace muster::comm::shm {
namespace {

enum class Kind : std::uint8_t {
  knock = 'k',
  answer = 'a',
  hello = 'h',
  proven_hello = 'p',
  welcome = 'w',
  refusal = 'r',
  segment_opened = 's',
  segment_retired = 't',
  farewell = 'f',
};
constexpr int kPacketVersion = 1;

std::string packet_of(Kind kind, std::string_view contents = {}) {
  std::string packet(1, static_cast<char>(kind));
  return packet += contents;
}

std::string_view text_of(const std::uint32_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

tl::unexpected<Error> bad_packet(std::string why) { return fail(Errc::malformed, std::move(why)); }

std::optional<InstanceId> instance_from(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return InstanceId(value);
}

Result<LinkPacket> read_hello(std::string_view text, std::vector<FileDescriptor> files,
                              std::string_view proof) {
  if (files.size() != 2) return bad_packet(fmt::format("a hello with {} files", files.size()));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return bad_packet("a hello that is no JSON object");
  try {
    if (const int version = json.at("version").get<int>(); version != kPacketVersion) {
      return bad_packet(fmt::format("a hello of version {}", version));
    }
    auto entry = Entry::from_json(json.at("entry").get<std::string>());
    if (!entry) return fail(std::move(entry).error());
    const auto target = instance_from(json.at("target").get<std::string>());
    if (!target) return bad_packet("a hello whose target is no number");
    return Hello{.proof = std::string(proof),
                 .text = std::string(text),
                 .entry = *std::move(entry),
                 .group = json.at("group").get<std::string>(),
                 .target = *target,
                 .doorbell = json.at("doorbell").get<std::string>(),
                 .link = std::move(files[0]),
                 .doorbell_page = std::move(files[1])};
  } catch (const nlohmann::json::exception& error) {
    return bad_packet(fmt::format("a hello with a field missing or wrong: {}", error.what()));
  }
}

Result<LinkPacket> read_nonce(Kind kind, std::string_view text) {
  Nonce nonce{};
  const std::size_t due = nonce.size() + (kind == Kind::answer ? SecretProof::kBytes : 0);
  if (text.size() != due)
    return bad_packet(fmt::format("a knock or answer of {} bytes", text.size()));
  std::memcpy(nonce.data(), text.data(), nonce.size());
  if (kind == Kind::knock) return Knock{nonce};
  return Answer{nonce, std::string(text.substr(nonce.size()))};
}

Result<LinkPacket> read_segment(Kind kind, std::string_view text,
                                std::vector<FileDescriptor> files) {
  const std::size_t files_due = kind == Kind::segment_opened ? 1 : 0;
  std::uint32_t segment = 0;
  if (text.size() != sizeof segment || files.size() != files_due) {
    return bad_packet(fmt::format("a segment in {} bytes and {} files", text.size(), files.size()));
  }
  std::memcpy(&segment, text.data(), sizeof segment);
  if (kind == Kind::segment_retired) return SegmentRetired{segment};
  return SegmentOpened{segment, std::move(files[0])};
}

}  // namespace

PacketStatus send_knock(const FileDescriptor& socket, const Nonce& nonce) {
  return send_packet(
      socket, as_bytes(packet_of(Kind::knock, std::string_view(nonce.data(), nonce.size()))));
}

PacketStatus send_answer(const FileDescriptor& socket, const Nonce& nonce,
                         const std::string& proof) {
  return send_packet(
      socket, as_bytes(packet_of(Kind::answer, std::string(nonce.data(), nonce.size()) + proof)));
}

std::string hello_text(const Entry& self, const std::string& group, InstanceId target,
                       const std::string& doorbell) {
  const nlohmann::json hello{{"version", kPacketVersion},
                             {"entry", self.to_json()},
                             {"group", group},
                             {"target", fmt::format("{:016x}", target.value())},
                             {"doorbell", doorbell}};
  return hello.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

PacketStatus send_hello(const FileDescriptor& socket, const std::string& text,
                        const std::string& proof, int link, int doorbell_page) {
  const Kind kind = proof.empty() ? Kind::hello : Kind::proven_hello;
  const std::array files{link, doorbell_page};
  return send_packet(socket, as_bytes(packet_of(kind, proof + text)), files);
}

PacketStatus send_welcome(const FileDescriptor& socket, const std::string& doorbell,
                          int doorbell_page) {
  const std::array files{doorbell_page};
  return send_packet(socket, as_bytes(packet_of(Kind::welcome, doorbell)), files);
}

// The other side learns as much from the end of the connection: losing this does no harm.
void send_refusal(const FileDescriptor& socket, bool for_good, const std::string& why) {
  const std::string contents = (for_good ? '!' : '?') + why;
  static_cast<void>(send_packet(socket, as_bytes(packet_of(Kind::refusal, contents))));
}

PacketStatus send_segment_opened(const FileDescriptor& socket, std::uint32_t segment, int memory) {
  const std::array files{memory};
  return send_packet(socket, as_bytes(packet_of(Kind::segment_opened, text_of(segment))), files);
}

PacketStatus send_segment_retired(const FileDescriptor& socket, std::uint32_t segment) {
  return send_packet(socket, as_bytes(packet_of(Kind::segment_retired, text_of(segment))));
}

void send_farewell(const FileDescriptor& socket, Farewell farewell) {
  if (farewell == Farewell::none) return;
  const char said = static_cast<char>(farewell);
  static_cast<void>(send_packet(socket, as_bytes(packet_of(Kind::farewell, {&said, 1}))));
}

Result<LinkPacket> read_packet(Packet packet) {
  if (packet.truncated || packet.bytes.empty()) return bad_packet("a packet that is too long");
  const std::string_view text = as_text(packet.bytes).substr(1);
  const auto kind = static_cast<Kind>(packet.bytes[0]);
  switch (kind) {
    case Kind::knock:
    case Kind::answer: return read_nonce(kind, text);
    case Kind::hello: return read_hello(text, std::move(packet.files), {});
    case Kind::proven_hello:
      if (text.size() < SecretProof::kBytes) return bad_packet("a hello that is all proof");
      return read_hello(text.substr(SecretProof::kBytes), std::move(packet.files),
                        text.substr(0, SecretProof::kBytes));
    case Kind::welcome:
      if (packet.files.size() != 1) return bad_packet("a welcome without a doorbell");
      return Welcome{std::string(text), std::move(packet.files[0])};
    case Kind::refusal:
      if (text.empty()) return bad_packet("a refusal without a word");
      return Refusal{text[0] != '?', std::string(text.substr(1, 1024))};
    case Kind::segment_opened:
    case Kind::segment_retired: return read_segment(kind, text, std::move(packet.files));
    case Kind::farewell:
      if (text == "\x01") return Farewell::closing;
      if (text == "\x02") return Farewell::forgetting;
      return bad_packet("a farewell of an unknown kind");
  }
  return bad_packet(fmt::format("a packet of unknown kind {}", static_cast<int>(packet.bytes[0])));
}

HelloVerdict judge(const Hello& hello, const Expected& expected) {
  if (hello.group != expected.group) return HelloVerdict::stranger;
  return hello.target == expected.self ? HelloVerdict::welcome : HelloVerdict::stale;
}

bool may_connect(const PeerProcess& peer, uid_t own_uid) { return peer.uid == own_uid; }

}  // namespace muster::comm::shm
