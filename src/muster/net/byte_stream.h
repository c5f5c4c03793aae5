#pragma once

#include <memory>
#include <span>

#include "muster/base/buffer.h"
#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster::net {

/// How long something in many steps may take: until the deadline, and no step longer than `step`.
struct Patience {
  TimePoint deadline = TimePoint::max();
  Duration step = Duration::max();

  /// When the step that begins now must be done.
  [[nodiscard]] TimePoint next() const {
    const TimePoint now = SteadyClock().now();
    return step < deadline - now ? now + step : deadline;
  }
};

/// Bytes in order to and from another end. One thread may read while another writes.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// Agrees with the other end on keys where there are any. To be called first, once.
  virtual Result<void> handshake(TimePoint deadline) = 0;

  /// What is there, at least one byte; 0 when the other end has said that nothing more comes.
  virtual Result<std::size_t> read_some(std::span<std::byte> into, TimePoint deadline) = 0;
  /// All of the parts, one after the other.
  virtual Result<void> write_all(std::span<const ByteSpan> parts, const Patience& patience) = 0;

  /// Tells the other end that nothing more comes. Does not wait.
  virtual void end_writing() = 0;
  /// True if the connection is open and has nothing to read.
  [[nodiscard]] virtual bool quiet() = 0;

  /// Whoever reads sees the end now; what is being written may be finished. Thread-safe.
  virtual void end_reading() = 0;
  /// Ends both directions now. Thread-safe.
  virtual void cut() = 0;
};

/// Waits until poll(2) sees one of the events, or something that an attempt will report.
Result<void> wait_ready(int fd, short events, TimePoint deadline);

/// Over a connected socket that does not block. Never raises SIGPIPE.
class SocketStream final : public ByteStream {
 public:
  explicit SocketStream(FileDescriptor socket) : socket_(std::move(socket)) {}

  Result<void> handshake(TimePoint) override { return {}; }
  Result<std::size_t> read_some(std::span<std::byte> into, TimePoint deadline) override;
  Result<void> write_all(std::span<const ByteSpan> parts, const Patience& patience) override;
  void end_writing() override;
  [[nodiscard]] bool quiet() override;
  void end_reading() override;
  void cut() override;

 private:
  FileDescriptor socket_;
};

}  // namespace muster::net
