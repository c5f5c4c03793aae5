#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/net/http/body_reader.h"
#include "muster/net/http/http_message.h"
#include "muster/net/http/stream_reader.h"

namespace muster::net {

/// Why there is no head.
enum class HeadFailure : std::uint8_t {
  ended,      ///< the connection ended before its first byte
  cut,        ///< it ended or broke inside of it
  timeout,    ///< it was not complete in time
  too_large,  ///< it has more bytes than may be
  malformed,  ///< these are no lines of a head
};

/// Reads the first line and the headers of a message with the empty line that ends them. What is
/// returned is still buffered: consume it once it is parsed. Lines end in CR LF and do not fold,
/// because what programs in between read differently lets requests be smuggled past them.
[[nodiscard]] tl::expected<std::string_view, HeadFailure> read_head(StreamReader& reader,
                                                                    std::size_t most,
                                                                    TimePoint deadline);

/// A request as its head tells it.
struct RequestHead {
  HttpRequest request{};
  BodyPlan body{};
  bool keep_alive = false;
  bool http_1_0 = false;
  bool expects_continue = false;
};

/// What to answer to a head that is no good.
struct Refusal {
  int status = 400;
  std::string text{};
};

/// Reads a head that `read_head` found. Any bytes may be given to it.
[[nodiscard]] tl::expected<RequestHead, Refusal> parse_request(std::string_view head,
                                                               std::size_t most_fields);

/// An answer as its head tells it.
struct ReplyHead {
  HttpHead head{};
  BodyPlan body{};
  bool keep_alive = false;
};

/// `to_head` says that the request was HEAD, whose answer has no body.
[[nodiscard]] Result<ReplyHead> parse_reply(std::string_view head, bool to_head);

}  // namespace muster::net
