#pragma once

#include <cstddef>
#include <cstdint>

#include "muster/comm/driver/ucx/port_version.h"

// The interface between Muster and the module that links libucx (libmuster_ucx.so). Both sides may
// come from different compilers and have their own copies of everything, so only plain data and
// virtual functions cross: no library types, no exceptions, nobody frees what the other allocated.
// `kUcxPortVersion` is made from this text, so that none is taken from another build.

namespace muster::comm {

/// Bytes that stay where they are until they are sent.
struct UcxPiece {
  const void* data;
  std::size_t bytes;
};
inline constexpr std::size_t kUcxMaxPieces = 8;

/// A setting of UCX without its "UCX_", for one port.
struct UcxSetting {
  const char* name;
  const char* value;
};

/// What a port tells. Called from within the port's functions, by the thread that called those.
class UcxPortListener {
 public:
  /// The bytes are the sender's, whoever that is, and valid until this returns. `reply` is null, or
  /// something to pass to `UcxPort::reply` before this returns.
  virtual void on_arrival(UcxPiece header, UcxPiece data, void* reply) = 0;
  /// A pending send has ended: its memory is free again.
  virtual void on_sent(void* parcel) = 0;
  /// The way is broken for good; it is to be disconnected, but not from here.
  virtual void on_broken(std::uint32_t way, const char* why) = 0;

 protected:
  ~UcxPortListener() = default;
};

enum class UcxSent : std::uint8_t {
  done,     ///< the memory is free again
  pending,  ///< the memory stays in use until `on_sent`
  failed,   ///< nothing was sent, and the way is broken
};

enum class UcxArmed : std::uint8_t {
  yes,   ///< `fd` will become readable when something arrives
  busy,  ///< something has arrived: progress first
};

/// One UCX worker: an address, ways to others, and messages that arrive whole, from anybody. Not
/// thread-safe; any thread may call, one at a time.
class UcxPort {
 public:
  [[nodiscard]] virtual UcxPiece address() const = 0;
  /// The same without shared memory.
  [[nodiscard]] virtual UcxPiece network_address() const = 0;
  [[nodiscard]] virtual int fd() const = 0;
  /// Header and data of one message together.
  [[nodiscard]] virtual std::size_t max_message_bytes() const = 0;

  /// Starts to connect. On failure `why` holds a sentence.
  virtual bool connect(std::uint32_t way, UcxPiece address, char* why, std::size_t why_bytes) = 0;
  /// By force: pending sends end. Unknown ways are fine.
  virtual void disconnect(std::uint32_t way) = 0;

  /// The header is copied. At most `kUcxMaxPieces`.
  virtual UcxSent send(std::uint32_t way, UcxPiece header, const UcxPiece* pieces,
                       std::size_t count, void* parcel) = 0;
  /// A header only, whose receiver can reply.
  virtual bool ask(std::uint32_t way, UcxPiece header) = 0;
  /// A header only.
  virtual bool reply(void* to, UcxPiece header) = 0;

  /// Moves everything a little; zero when there was nothing to move.
  virtual unsigned progress() = 0;
  virtual UcxArmed arm() = 0;

  /// What UCX uses for this way, in its own words.
  virtual void describe(std::uint32_t way, char* text, std::size_t text_bytes) = 0;

  /// Ends all ways and frees the port, without waiting. No callback comes after that.
  virtual void close() = 0;

 protected:
  ~UcxPort() = default;
};

extern "C" {
/// `muster_ucx_open` of the module: null, with a sentence in `why`, when it cannot be had or speaks
/// another version. The listener outlives the port.
using UcxOpen = UcxPort* (*)(std::uint32_t version, const UcxSetting* settings, std::size_t count,
                             UcxPortListener* listener, char* why, std::size_t why_bytes);
}

}  // namespace muster::comm
