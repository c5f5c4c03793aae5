#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "muster/base/result.h"
#include "muster/net/byte_stream.h"
#include "muster/net/http/stream_reader.h"

namespace muster::net {

/// How the end of a body is found.
struct BodyPlan {
  enum class Framing : std::uint8_t { none, length, chunked, until_end };
  Framing framing = Framing::none;
  std::uint64_t length = 0;
};

/// The body of one message. Reads nothing behind it. Not thread-safe.
class BodyReader {
 public:
  BodyReader(StreamReader& reader, const BodyPlan& plan);

  /// What is there, at least one byte; 0 at the end. `Errc::protocol` for chunks that are none,
  /// `Errc::unreachable` if the connection ends too early. After a failure there is no more.
  Result<std::size_t> read(std::span<std::byte> into, const Patience& patience);

  [[nodiscard]] bool at_end() const { return state_ == State::end; }
  /// Nothing where only the end will tell.
  [[nodiscard]] std::optional<std::uint64_t> length() const;

 private:
  enum class State : std::uint8_t { data, until_end, chunk_size, chunk_end, trailer, end };

  Result<std::size_t> read_data(std::span<std::byte> into, const Patience& patience);
  // What stands between the bytes of two chunks, up to the next of those or the end.
  Result<void> read_between(const Patience& patience);
  Result<void> begin_chunk(std::string_view line);
  // The next line, without its end. Not consumed yet.
  Result<std::string_view> line(const Patience& patience);

  StreamReader& reader_;  // of the connection, which outlives its messages
  BodyPlan plan_;
  State state_ = State::end;
  std::uint64_t left_ = 0;
  std::size_t trailer_ = 0;  // bytes of it
};

}  // namespace muster::net
