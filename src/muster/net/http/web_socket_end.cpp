#include "muster/net/http/web_socket_end.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/base/utf8.h"
#include "muster/net/errc.h"

namespace muster::net {
namespace {

using std::chrono::seconds;

constexpr std::size_t kPiece = 64u << 10;
constexpr std::size_t kMostPosted = 64;
constexpr Duration kGoodbye = seconds(2);  // how long the other end's close is waited for
constexpr Duration kSlice = seconds(1);    // how late a close by another thread may be noticed
// Behind the deadline only what has already come is looked at, and no endless flood of it.
constexpr int kMostStepsBehindDeadline = 4096;

constexpr std::uint16_t kProtocolError = 1002;
constexpr std::uint16_t kNoCode = 1005;
constexpr std::uint16_t kNoText = 1007;
constexpr std::uint16_t kTooLarge = 1009;

TimePoint now() { return SteadyClock().now(); }

Error protocol_error(std::string text) {
  return {make_error_code(Errc::protocol), std::move(text)};
}

std::string close_payload(std::uint16_t code, std::string_view reason) {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
  payload.append(reason.substr(0, kLongestControl - 2));
  while (!is_utf8(std::string_view(payload).substr(2))) payload.pop_back();
  return payload;
}

bool may_be_sent(std::uint16_t code) {
  return (code >= 1000 && code <= 1014 && code != 1004 && code != kNoCode && code != 1006) ||
         (code >= 3000 && code < 5000);
}

Mask random_mask() {
  Mask mask;
  const std::uint64_t random = secure_random_u64();
  for (std::size_t i = 0; i < mask.size(); ++i)
    mask[i] = static_cast<std::byte>(random >> (8 * i) & 0xFF);
  return mask;
}

}  // namespace

WebSocketEnd::WebSocketEnd(std::shared_ptr<ByteStream> stream, std::string_view ahead,
                           WebSocketRole role, const WebSocketOptions& options)
    : stream_(std::move(stream)),
      role_(role),
      options_(options),
      reader_(*stream_, ahead),
      heard_(now()),
      pinged_(heard_) {}

WebSocketEnd::~WebSocketEnd() {
  close(1000, {});
  if (role_ == WebSocketRole::client) stream_->end_writing();
}

Result<void> WebSocketEnd::send_text(std::string_view text) {
  if (!is_utf8(text)) throw std::invalid_argument("[web_socket] text is UTF-8; else send bytes");
  return send(Opcode::text, as_bytes(text));
}

Result<void> WebSocketEnd::send_bytes(ByteSpan bytes) { return send(Opcode::bytes, bytes); }

Result<void> WebSocketEnd::send(Opcode opcode, ByteSpan payload) {
  Result<void> sent;
  {
    const std::lock_guard lock(sending_);
    if (close_sent_) return fail(Errc::closed, "the web socket is closed");
    sent = write_frame(opcode, payload, {TimePoint::max(), options_.step});
  }
  send_posted();
  return sent;
}

Result<void> WebSocketEnd::write_frame(Opcode opcode, ByteSpan payload, const Patience& patience) {
  FrameHeader header;
  header.opcode = opcode;
  header.length = payload.size();
  Result<void> written;
  if (role_ == WebSocketRole::client) {
    header.mask = random_mask();
    written = write_masked(header, payload, patience);
  } else {
    const FrameHeaderBytes head = encode_frame(header);
    const std::array parts{head.span(), payload};
    written = stream_->write_all(parts, patience);
  }
  if (!written) stream_->cut();  // half a frame may be out
  return written;
}

Result<void> WebSocketEnd::write_masked(const FrameHeader& header, ByteSpan payload,
                                        const Patience& patience) {
  const FrameHeaderBytes head = encode_frame(header);
  std::vector<std::byte> piece(head.span().begin(), head.span().end());
  std::uint64_t offset = 0;
  do {
    const std::size_t before = piece.size();
    const ByteSpan next = payload.first(std::min(payload.size(), kPiece));
    payload = payload.subspan(next.size());
    piece.insert(piece.end(), next.begin(), next.end());
    apply_mask(std::span(piece).subspan(before), *header.mask, offset);
    offset += next.size();
    const std::array parts{ByteSpan(piece)};
    if (auto written = stream_->write_all(parts, patience); !written) return written;
    piece.clear();
  } while (!payload.empty());
  return {};
}

void WebSocketEnd::post(Opcode opcode, std::string payload) {
  {
    const std::lock_guard lock(posting_);
    // Somebody who floods us with pings and reads no pongs gets fewer of them.
    if (posted_.size() >= kMostPosted && opcode != Opcode::close) return;
    posted_.push_back({opcode, std::move(payload)});
  }
  send_posted();
}

bool WebSocketEnd::anything_posted() {
  const std::lock_guard lock(posting_);
  return !posted_.empty();
}

std::optional<WebSocketEnd::Posted> WebSocketEnd::next_posted() {
  const std::lock_guard lock(posting_);
  if (posted_.empty()) return {};
  Posted first = std::move(posted_.front());
  posted_.erase(posted_.begin());
  return first;
}

void WebSocketEnd::send_posted() {
  while (anything_posted()) {
    const std::unique_lock lock(sending_, std::try_to_lock);
    if (!lock.owns_lock()) return;  // the one who holds it comes here afterwards
    while (const auto next = next_posted()) {
      const Patience patience{now() + kGoodbye, kGoodbye};
      (void)write_frame(next->opcode, as_bytes(next->payload), patience);
    }
  }
}

void WebSocketEnd::close(std::uint16_t code, std::string_view reason) {
  if (close_sent_.exchange(true)) return;
  close_until_ = now() + kGoodbye;
  post(Opcode::close, close_payload(code, reason));
}

Result<std::optional<WebSocketMessage>> WebSocketEnd::receive(TimePoint deadline) {
  const std::lock_guard lock(receiving_);
  if (ended_) return fail(*ended_);
  for (int steps_behind = 0; steps_behind < kMostStepsBehindDeadline;) {
    const auto complete = step(std::min(deadline, now() + std::min(kSlice, options_.ping_every)));
    if (complete && *complete) return take_message();
    const TimePoint time = now();
    if (!complete) {
      if (!complete.error().is(Errc::timeout)) return end_with(complete.error());
      if (auto alive = look_for_life(time); !alive) return end_with(alive.error());
      if (time >= deadline) break;
    }
    if (time >= deadline) ++steps_behind;
  }
  return std::nullopt;
}

Result<bool> WebSocketEnd::step(TimePoint until) {
  if (!frame_) {
    const auto header = parse_frame(as_bytes(reader_.buffered()), role_);
    if (!header) return complain(kProtocolError, header.error());
    if (*header) return begin_frame(**header);
    const auto more = reader_.fill(until);
    if (!more) return fail(more.error());
    if (!*more) return fail(Errc::unreachable, "the other end of the web socket is gone");
    heard_ = now();
    return false;
  }
  if (frame_read_ < frame_->length) {
    if (auto read = read_payload(until); !read) return fail(read.error());
  }
  return frame_read_ < frame_->length ? Result<bool>(false) : end_frame();
}

Result<bool> WebSocketEnd::begin_frame(const FrameHeader& header) {
  const bool continues = header.opcode == Opcode::continuation;
  if (!is_control(header.opcode)) {
    if (continues != message_kind_.has_value()) {
      return complain(kProtocolError,
                      protocol_error(continues ? "a frame of the web socket continues no message"
                                               : "a message begins inside another"));
    }
    if (header.length > options_.most_message - std::min(message_.size(), options_.most_message)) {
      return complain(kTooLarge,
                      {make_error_code(Errc::too_large),
                       fmt::format("a message of more than {} bytes came", options_.most_message)});
    }
    if (!continues) message_kind_ = header.opcode;
  }
  reader_.consume(header.size);
  frame_ = header;
  frame_read_ = 0;
  return false;
}

Result<void> WebSocketEnd::read_payload(TimePoint until) {
  std::vector<std::byte>& into = is_control(frame_->opcode) ? control_ : message_;
  const std::size_t before = into.size();
  const auto want =
      static_cast<std::size_t>(std::min<std::uint64_t>(frame_->length - frame_read_, 4 * kPiece));
  into.resize(before + want);
  const auto got = reader_.read_some(std::span(into).subspan(before), until);
  into.resize(before + got.value_or(0));
  if (!got) return fail(got.error());
  if (*got == 0) return fail(Errc::unreachable, "the other end of the web socket is gone");
  if (frame_->mask) apply_mask(std::span(into).subspan(before), *frame_->mask, frame_read_);
  frame_read_ += *got;
  heard_ = now();
  return {};
}

Result<bool> WebSocketEnd::end_frame() {
  const FrameHeader frame = *std::exchange(frame_, std::nullopt);
  if (is_control(frame.opcode)) {
    auto obeyed = obey(frame);
    control_.clear();
    if (!obeyed) return fail(obeyed.error());
    return false;
  }
  if (!frame.last) return false;
  if (message_kind_ == Opcode::text && !is_utf8(as_text(message_)))
    return complain(kNoText, protocol_error("a text message is no UTF-8"));
  return true;
}

Result<void> WebSocketEnd::obey(const FrameHeader& frame) {
  if (frame.opcode == Opcode::close) return closed_by_other();
  if (frame.opcode == Opcode::ping && !close_sent_)
    post(Opcode::pong, std::string(as_text(control_)));
  return {};
}

Result<void> WebSocketEnd::closed_by_other() {
  const std::string_view payload = as_text(control_);
  std::uint16_t code = kNoCode;
  if (payload.size() >= 2) {
    code = static_cast<std::uint16_t>(static_cast<unsigned char>(payload[0]) << 8 |
                                      static_cast<unsigned char>(payload[1]));
  }
  const std::string_view reason = payload.substr(std::min<std::size_t>(2, payload.size()));
  if (payload.size() == 1 || (payload.size() >= 2 && !may_be_sent(code)) || !is_utf8(reason))
    return complain(kProtocolError, protocol_error("the web socket was closed with no such code"));
  close(code == kNoCode ? std::uint16_t{1000} : code, {});
  return fail(Errc::closed, fmt::format("the web socket was closed with code {}{}{}", code,
                                        reason.empty() ? "" : ": ", reason));
}

tl::unexpected<Error> WebSocketEnd::complain(std::uint16_t code, const Error& error) {
  close(code, error.message());
  return fail(error);
}

Result<void> WebSocketEnd::look_for_life(TimePoint time) {
  if (time >= close_until_.load())
    return fail(Errc::closed, "the web socket was closed by this end");
  if (time - heard_ >= 2 * options_.ping_every) {
    return fail(Errc::unreachable, "the other end of the web socket gave no sign of life");
  }
  if (time - std::max(heard_, pinged_) >= options_.ping_every && !close_sent_) {
    pinged_ = time;
    post(Opcode::ping, {});
  }
  return {};
}

Result<std::optional<WebSocketMessage>> WebSocketEnd::end_with(const Error& error) {
  ended_ = close_sent_ && error.is(Errc::unreachable)
               ? Error(make_error_code(Errc::closed), "the web socket was closed by this end")
               : error;
  return fail(*ended_);
}

WebSocketMessage WebSocketEnd::take_message() {
  const Opcode kind = *std::exchange(message_kind_, std::nullopt);
  return {kind == Opcode::text ? WebSocketMessage::Kind::text : WebSocketMessage::Kind::bytes,
          Buffer::take(std::exchange(message_, {}))};
}

}  // namespace muster::net
