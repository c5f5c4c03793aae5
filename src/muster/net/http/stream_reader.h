#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/net/byte_stream.h"

namespace muster::net {

/// Reads a stream ahead, for what must be looked at before it is known how long it is. Large reads
/// pass it by. Not thread-safe.
class StreamReader {
 public:
  /// `ahead` are bytes of the stream that somebody else has read already.
  explicit StreamReader(ByteStream& stream, std::string_view ahead = {});

  /// What was read and not consumed. Valid until the next call.
  [[nodiscard]] std::string_view buffered() const {
    return {bytes_.data() + begin_, end_ - begin_};
  }
  void consume(std::size_t bytes) { begin_ += bytes; }

  /// Reads more behind what is buffered; false at the end of the stream.
  Result<bool> fill(TimePoint deadline);
  /// What is there, at least one byte; 0 at the end.
  Result<std::size_t> read_some(std::span<std::byte> into, TimePoint deadline);

 private:
  ByteStream& stream_;  // of the connection, which outlives its readers
  std::vector<char> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace muster::net
