#include "muster/net/http/head.h"

#include "muster/net/errc.h"

namespace muster::net {
namespace {

// Some clients send an empty line or two behind a body.
constexpr int kMostEmptyLines = 4;

// Goes through the bytes of a head as they come.
class HeadScanner {
 public:
  enum class Verdict : std::uint8_t { more, complete, malformed };

  // `bytes` are those of the last call and more.
  Verdict look(std::string_view bytes) {
    if (!bytes.empty() && (bytes[0] < 'A' || bytes[0] > 'z')) return Verdict::malformed;
    for (;;) {
      const auto end = bytes.find('\n', looked_);
      if (end == std::string_view::npos) {
        looked_ = bytes.size();
        return Verdict::more;
      }
      looked_ = end + 1;
      const std::string_view line = bytes.substr(line_, looked_ - line_);
      if (!line.ends_with("\r\n")) return Verdict::malformed;
      if (line_ > 0 && line.size() == 2) return Verdict::complete;
      if (line[0] == ' ' || line[0] == '\t') return Verdict::malformed;
      line_ = looked_;
    }
  }
  [[nodiscard]] std::size_t size() const { return looked_; }

 private:
  std::size_t looked_ = 0;
  std::size_t line_ = 0;  // where the current one begins
};

}  // namespace

tl::expected<std::string_view, HeadFailure> read_head(StreamReader& reader, std::size_t most,
                                                      TimePoint deadline) {
  HeadScanner scanner;
  bool anything = false;
  for (int empty_lines = 0;;) {
    while (reader.buffered().starts_with("\r\n") && empty_lines++ < kMostEmptyLines)
      reader.consume(2);
    const std::string_view bytes = reader.buffered();
    // A lone CR may become such an empty line.
    if (bytes != "\r") {
      switch (scanner.look(bytes)) {
        case HeadScanner::Verdict::complete:
          if (scanner.size() > most) return tl::unexpected(HeadFailure::too_large);
          return bytes.substr(0, scanner.size());
        case HeadScanner::Verdict::malformed: return tl::unexpected(HeadFailure::malformed);
        case HeadScanner::Verdict::more: break;
      }
    }
    anything = anything || !bytes.empty();
    if (bytes.size() > most) return tl::unexpected(HeadFailure::too_large);
    const auto more = reader.fill(deadline);
    if (!more) {
      return tl::unexpected(more.error().is(Errc::timeout) ? HeadFailure::timeout
                                                           : HeadFailure::cut);
    }
    if (!*more) return tl::unexpected(anything ? HeadFailure::cut : HeadFailure::ended);
  }
}

}  // namespace muster::net
