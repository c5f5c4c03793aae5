#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "muster/net/http/http_message.h"

namespace muster::net {

/// Names of headers are equal without regard to case.
[[nodiscard]] bool same_name(std::string_view a, std::string_view b);

/// The words behind the number of a status.
[[nodiscard]] std::string_view reason_of(int status);

/// Appends the line of one header. Throws std::invalid_argument if it would break the message, as a
/// line end in the value does.
void append_header(std::string& text, std::string_view name, std::string_view value);
void append_headers(std::string& text, const HeaderList& headers);

/// "Sun, 06 Nov 1994 08:49:37 GMT"; seconds since 1970.
[[nodiscard]] std::string http_date(std::int64_t seconds);

}  // namespace muster::net
