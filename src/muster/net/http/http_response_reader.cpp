#include "muster/net/http/http_response_reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "muster/net/errc.h"

namespace muster::net {
namespace {

constexpr std::size_t kLongestResponseLine = 8192;
constexpr std::uint64_t kLongestResponseChunk = std::uint64_t{1} << 40;

tl::unexpected<Error> broken(std::string why) {
  return fail(Errc::protocol, "the HTTP response " + std::move(why));
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string_view trimmed_line(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

template <class Number>
bool read_number(std::string_view text, Number& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string_view HttpResponseReader::header(std::string_view name) const {
  const auto place = headers_.find(name);
  return place == headers_.end() ? std::string_view() : std::string_view(place->second);
}

Result<void> HttpResponseReader::read_head(std::string_view head) {
  const auto line_end = head.find('\n');
  const std::string_view line = trimmed_line(head.substr(0, line_end));
  if (!line.starts_with("HTTP/1.") || line.size() < 12 ||
      !read_number(line.substr(9, 3), status_, 10) || status_ < 100) {
    return broken("does not begin as one");
  }
  std::string_view rest = line_end == std::string_view::npos ? "" : head.substr(line_end + 1);
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const std::string_view row = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto colon = row.find(':');
    if (colon == std::string_view::npos) continue;
    headers_[lower(trimmed_line(row.substr(0, colon)))] = trimmed_line(row.substr(colon + 1));
  }
  return choose_body();
}

Result<void> HttpResponseReader::choose_body() {
  if (status_ < 200 || status_ == 204 || status_ == 304) {
    state_ = State::complete;
  } else if (lower(header("transfer-encoding")).find("chunked") != std::string::npos) {
    state_ = State::chunk_size;
  } else if (const std::string_view length = header("content-length"); !length.empty()) {
    if (!read_number(length, left_, 10)) return broken("has a length that is no number");
    state_ = left_ == 0 ? State::complete : State::length;
  } else {
    state_ = State::until_end;
  }
  return {};
}

Result<void> HttpResponseReader::read_chunk_size(std::string_view line) {
  if (!read_number(trimmed_line(line.substr(0, line.find(';'))), left_, 16) ||
      left_ > kLongestResponseChunk) {
    return broken("has a chunk whose size is no number");
  }
  state_ = left_ == 0 ? State::trailer : State::chunk;
  return {};
}

bool HttpResponseReader::take_line(std::string& line) {
  const auto end = pending_.find('\n');
  if (end == std::string::npos) return false;
  line = trimmed_line(std::string_view(pending_).substr(0, end));
  pending_.erase(0, end + 1);
  return true;
}

Result<void> HttpResponseReader::take(std::string_view bytes, std::string& body) {
  pending_.append(bytes);
  for (std::string line; state_ != State::complete;) {
    switch (state_) {
      case State::head: {
        auto end = pending_.find("\r\n\r\n");
        if (end == std::string::npos) {
          return pending_.size() > kLongestHead ? broken("has a head without end") : Result<void>();
        }
        const std::string head = pending_.substr(0, end);
        pending_.erase(0, end + 4);
        if (auto read = read_head(head); !read) return read;
        break;
      }
      case State::length:
      case State::chunk: {
        const auto count = std::min<std::uint64_t>(left_, pending_.size());
        body.append(pending_, 0, count);
        pending_.erase(0, count);
        left_ -= count;
        if (left_ > 0) return {};
        state_ = state_ == State::length ? State::complete : State::chunk_end;
        break;
      }
      case State::until_end:
        body.append(pending_);
        pending_.clear();
        return {};
      case State::chunk_size:
      case State::chunk_end:
      case State::trailer:
        if (!take_line(line)) {
          return pending_.size() > kLongestResponseLine ? broken("has a line without end")
                                                        : Result<void>();
        }
        if (state_ == State::chunk_size) {
          if (auto read = read_chunk_size(line); !read) return read;
        } else if (state_ == State::chunk_end) {
          if (!line.empty()) return broken("has a chunk longer than it says");
          state_ = State::chunk_size;
        } else if (line.empty()) {
          state_ = State::complete;
        }
        break;
      case State::complete: break;
    }
  }
  return {};
}

Result<void> HttpResponseReader::finish() {
  if (state_ == State::until_end) state_ = State::complete;
  if (state_ == State::complete) return {};
  return broken("ends too early");
}

}  // namespace muster::net
