// The only file that includes Boost.Beast, which takes long to compile.

#include <algorithm>
#include <limits>

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <fmt/format.h>

#include "muster/net/errc.h"
#include "muster/net/http/head.h"
#include "muster/net/http/message_text.h"
#include "muster/net/http/target.h"

namespace muster::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

template <bool is_request>
using Parser = http::parser<is_request, http::empty_body>;

template <bool is_request>
boost::system::error_code parse(Parser<is_request>& parser, std::string_view head) {
  parser.header_limit(std::numeric_limits<std::uint32_t>::max());
  parser.body_limit(boost::none);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(head.data(), head.size()), error);
  if (!error && !parser.is_header_done()) error = http::error::partial_message;
  return error;
}

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

HeaderList headers_of(const http::fields& fields) {
  HeaderList headers;
  for (const auto& field : fields)
    headers.emplace_back(text_of(field.name_string()), text_of(field.value()));
  return headers;
}

auto refuse(int status, std::string text) {
  return tl::unexpected(Refusal{status, std::move(text)});
}

std::size_t count_of(const HeaderList& headers, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count_if(
      headers, [&](const auto& header) { return same_name(header.first, name); }));
}

// Beast reads lengths and "chunked"; what two readers might see differently is refused here.
tl::expected<BodyPlan, Refusal> plan_request(const Parser<true>& parser,
                                             const HeaderList& headers) {
  const std::size_t lengths = count_of(headers, "Content-Length");
  const std::size_t encodings = count_of(headers, "Transfer-Encoding");
  if (encodings > 0) {
    if (lengths > 0) return refuse(400, "a body has a length or is chunked, not both");
    if (parser.get().version() < 11) return refuse(400, "HTTP/1.0 knows no Transfer-Encoding");
    if (encodings > 1 || !same_name(*find_header(headers, "Transfer-Encoding"), "chunked"))
      return refuse(501, "the only Transfer-Encoding known here is chunked");
    return BodyPlan{BodyPlan::Framing::chunked, 0};
  }
  if (lengths > 1) return refuse(400, "there are two values of Content-Length");
  if (lengths == 0) return BodyPlan{};
  const auto length = parser.content_length();
  const std::string& digits = *find_header(headers, "Content-Length");
  if (!length || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
    return refuse(400, "the Content-Length is no number");
  return BodyPlan{BodyPlan::Framing::length, *length};
}

}  // namespace

tl::expected<RequestHead, Refusal> parse_request(std::string_view head, std::size_t most_fields) {
  if (static_cast<std::size_t>(std::ranges::count(head, '\n')) > most_fields + 2)
    return refuse(431, fmt::format("more than {} headers", most_fields));
  Parser<true> parser;
  if (const auto error = parse(parser, head); error) {
    const bool version = error == http::error::bad_version;
    return refuse(version ? 505 : 400,
                  version ? "only HTTP/1.0 and HTTP/1.1 are spoken here" : error.message());
  }
  const auto& message = parser.get();
  RequestHead result;
  result.request.method = text_of(message.method_string());
  result.request.headers = headers_of(message);
  result.http_1_0 = message.version() < 11;
  result.keep_alive = parser.keep_alive() && !result.http_1_0;
  if (!read_target(std::string_view(message.target().data(), message.target().size()),
                   result.request)) {
    return refuse(400, "the target of the request is malformed");
  }
  if (const auto hosts = count_of(result.request.headers, "Host");
      hosts > 1 || (hosts == 0 && !result.http_1_0)) {
    return refuse(400, "a request has exactly one header Host");
  }
  auto plan = plan_request(parser, result.request.headers);
  if (!plan) return tl::unexpected(plan.error());
  result.body = *plan;
  result.expects_continue = !result.http_1_0 && plan->framing != BodyPlan::Framing::none &&
                            header_has_word(result.request.headers, "Expect", "100-continue");
  return result;
}

Result<ReplyHead> parse_reply(std::string_view head, bool to_head) {
  Parser<false> parser;
  parser.skip(to_head);
  if (const auto error = parse(parser, head); error)
    return fail(Errc::protocol, "the answer is no HTTP: " + error.message());
  ReplyHead result;
  result.head.status = static_cast<int>(parser.get().result_int());
  result.head.headers = headers_of(parser.get());
  result.keep_alive = parser.keep_alive();
  const int status = result.head.status;
  const HeaderList& headers = result.head.headers;
  if (const auto length = parser.content_length()) result.head.length = *length;
  if (to_head || status < 200 || status == 204 || status == 304) return result;
  if (const std::string* encoding = find_header(headers, "Transfer-Encoding")) {
    if (count_of(headers, "Transfer-Encoding") > 1 || !same_name(*encoding, "chunked"))
      return fail(Errc::protocol,
                  fmt::format("the answer has the Transfer-Encoding '{}'", *encoding));
    result.body.framing = BodyPlan::Framing::chunked;
  } else if (result.head.length) {
    result.body = {BodyPlan::Framing::length, *result.head.length};
  } else {
    result.body.framing = BodyPlan::Framing::until_end;
    result.keep_alive = false;
  }
  return result;
}

}  // namespace muster::net
