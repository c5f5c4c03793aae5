// Whatever a server sends: the reader takes it or refuses it, the same in one piece and in many.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "muster/net/http/http_response_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  muster::net::HttpResponseReader whole;
  muster::net::HttpResponseReader pieces;
  std::string whole_body;
  std::string pieces_body;
  const bool good = whole.take(text, whole_body).has_value();
  bool still_good = true;
  for (std::size_t at = 0; at < size && still_good; ++at)
    still_good = pieces.take(text.substr(at, 1), pieces_body).has_value();
  if (good != still_good) std::abort();
  if (good && (whole_body != pieces_body || whole.complete() != pieces.complete())) std::abort();
  return 0;
}
