#include "muster/service/protocol/ask.h"

#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/wire/byte_reader.h"
#include "muster/engine/wire/byte_writer.h"
#include "muster/service/errc.h"

namespace muster::service {

namespace {

using engine::ByteReader;
using engine::ByteWriter;
using nlohmann::json;

constexpr std::size_t kMostJson = 256u << 20;

void write_json(ByteWriter& out, const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  out.number(static_cast<std::uint64_t>(text.size()));
  out.raw(as_bytes(text));
}

json read_json(ByteReader& in) {
  const auto length = in.number<std::uint64_t>();
  if (length > in.left() || length > kMostJson) in.refuse(fmt::format("JSON of {} bytes", length));
  json value = json::parse(as_text(in.raw(static_cast<std::size_t>(length))), nullptr, false);
  if (value.is_discarded()) in.refuse("this is no JSON");
  return value;
}

/// The bytes behind what was read, shared with the message.
Buffer rest_of(const comm::Body& body, const ByteReader& in) {
  const Buffer& whole = body.buffer();
  const ByteSpan rest = whole.bytes().last(in.left());
  return whole.owner() && !whole.lent() ? Buffer::share(rest, whole.owner())
                                        : Buffer::copy_of(rest);
}

template <class Read>
auto guarded(const comm::Body& body, const char* what, Read&& read)
    -> Result<decltype(read(std::declval<ByteReader&>()))> {
  try {
    ByteReader in(body.buffer().bytes());
    return read(in);
  } catch (const engine::ArrayError& error) {
    return fail(Errc::malformed, fmt::format("this is no {}: {}", what, error.what()));
  }
}

}  // namespace

comm::Body encode(const Ask& ask) {
  ByteWriter out;
  out.text(ask.verb);
  write_json(out, ask.arguments);
  out.raw(ask.payload.bytes());
  return comm::Body::bytes(Buffer::take(out.take()));
}

comm::Body encode(const Answer& answer) {
  ByteWriter out;
  out.number(static_cast<std::int32_t>(answer.status));
  write_json(out, answer.body);
  out.raw(answer.payload.bytes());
  return comm::Body::bytes(Buffer::take(out.take()));
}

Result<Ask> read_ask(const comm::Body& body) {
  return guarded(body, "question", [&](ByteReader& in) {
    Ask ask;
    ask.verb = in.text();
    ask.arguments = read_json(in);
    if (!ask.arguments.is_object()) in.refuse("arguments are a JSON object");
    ask.payload = rest_of(body, in);
    return ask;
  });
}

Result<Answer> read_answer(const comm::Body& body) {
  return guarded(body, "answer", [&](ByteReader& in) {
    Answer answer;
    answer.status = in.number<std::int32_t>();
    answer.body = read_json(in);
    answer.payload = rest_of(body, in);
    return answer;
  });
}

}  // namespace muster::service
