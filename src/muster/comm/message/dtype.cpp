#include "muster/comm/message/dtype.h"

#include <charconv>

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

constexpr std::string_view kOrders = "<>|=";
constexpr std::string_view kKinds = "biufcmMSUV";
// "<M8[ns]" is the longest form in use; a longer text is not a dtype but an attack on the decoder's
// memory.
constexpr std::size_t kLongest = 24;
constexpr std::size_t kLargestItem = std::size_t{1} << 20;

}  // namespace

Result<DType> DType::parse(std::string_view text) {
  const auto bad = [&] {
    return fail(Errc::malformed,
                fmt::format("'{}' is not an element type such as '<f8', '|u1' or '<M8[ns]'",
                            text.substr(0, kLongest)));
  };
  if (text.size() < 3 || text.size() > kLongest) return bad();
  if (kOrders.find(text[0]) == std::string_view::npos ||
      kKinds.find(text[1]) == std::string_view::npos)
    return bad();
  std::size_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 2, end, size);
  if (error != std::errc{} || size > kLargestItem) return bad();
  const bool has_unit = rest != end;
  if (has_unit && ((text[1] != 'M' && text[1] != 'm') || *rest != '[' || end[-1] != ']'))
    return bad();
  if (text[1] == 'U') size *= 4;  // NumPy counts characters of four bytes there
  return DType(text, size);
}

}  // namespace muster::comm
