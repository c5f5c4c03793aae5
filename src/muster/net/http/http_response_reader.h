#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "muster/base/result.h"

namespace muster::net {

/// Reads one HTTP/1.1 response as its bytes come, with a length, in chunks, or until the connection
/// ends. Written by hand because what we ask (a Docker engine over its socket) needs no more, and
/// the library for it takes a minute to compile. Anything may be fed to it. Not thread-safe.
class HttpResponseReader {
 public:
  /// A response to HEAD and those with 1xx, 204 or 304 have no body.
  static constexpr std::size_t kLongestHead = 64u << 10;

  /// Takes bytes and appends what belongs to the body. `Errc::protocol` for what is no response.
  Result<void> take(std::string_view bytes, std::string& body);
  /// The connection has ended. `Errc::protocol` if that is too early.
  Result<void> finish();

  [[nodiscard]] bool head_read() const { return state_ != State::head; }
  [[nodiscard]] bool complete() const { return state_ == State::complete; }
  [[nodiscard]] int status() const { return status_; }
  /// By its name in small letters; empty if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;

 private:
  enum class State : std::uint8_t {
    head,
    length,      // `left_` bytes of body are to come
    until_end,   // the body goes on until the connection ends
    chunk_size,  // a line with the size of the next chunk
    chunk,       // `left_` bytes of a chunk are to come
    chunk_end,   // the line end behind a chunk
    trailer,     // lines behind the last chunk, up to an empty one
    complete,
  };

  Result<void> read_head(std::string_view head);
  Result<void> choose_body();
  Result<void> read_chunk_size(std::string_view line);
  // Takes a whole line off `pending_`; false when there is none yet.
  bool take_line(std::string& line);

  State state_ = State::head;
  int status_ = 0;
  std::map<std::string, std::string, std::less<>> headers_;
  std::string pending_;  // of the head or of a line
  std::uint64_t left_ = 0;
};

}  // namespace muster::net
