// Any bytes that a client sends are requests, read the same in one piece and in many, or refused
// with a status; a request that is taken holds nothing that a handler must fear.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "muster/base/utf8.h"
#include "muster/net/errc.h"
#include "muster/net/http/head.h"
#include "muster/net/http/web_socket_frame.h"
#include "tests/support/memory_stream.h"

namespace {

using namespace muster::net;
using muster::ByteSpan;
using muster::test::MemoryStream;

void check_request(const RequestHead& head) {
  const HttpRequest& request = head.request;
  if (!request.path.starts_with('/') || request.method.empty()) std::abort();
  if (request.path.find('\0') != std::string::npos) std::abort();
  if ((request.path + '/').find("/../") != std::string::npos) std::abort();
  if (request.header("Content-Length") != nullptr && request.header("Transfer-Encoding") != nullptr)
    std::abort();
}

// The requests with their bodies, one after the other, as text.
std::string read_requests(std::string_view text, std::size_t piece) {
  MemoryStream stream(text, piece);
  StreamReader reader(stream);
  std::string seen;
  for (;;) {
    const auto bytes = read_head(reader, 1000, muster::TimePoint::max());
    if (!bytes) return seen + "no head";
    const auto head = parse_request(*bytes, 20);
    reader.consume(bytes->size());
    if (!head) return seen + std::to_string(head.error().status);
    check_request(*head);
    seen.append(head->request.method).append(head->request.path);
    BodyReader body(reader, head->body);
    std::array<std::byte, 7> part;
    for (;;) {
      const auto got = body.read(part, {});
      if (!got) return seen + got.error().message();
      if (*got == 0) break;
      seen.append(muster::as_text(ByteSpan(part).first(*got)));
    }
  }
}

void read_frame(ByteSpan bytes, WebSocketRole role) {
  const auto header = parse_frame(bytes, role);
  if (!header) {
    if (!header.error().is(Errc::protocol)) std::abort();
    return;
  }
  if (!*header) return;
  const FrameHeaderBytes again = encode_frame(**header);
  if (again.size != (*header)->size) std::abort();
  if (muster::as_text(again.span()) != muster::as_text(bytes.first(again.size))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (read_requests(text, 1) != read_requests(text, 1000)) std::abort();
  (void)parse_request(text, 20);
  (void)parse_reply(text, false);
  read_frame(muster::as_bytes(text), WebSocketRole::server);
  read_frame(muster::as_bytes(text), WebSocketRole::client);
  (void)muster::is_utf8(text);
  return 0;
}
