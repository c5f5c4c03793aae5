#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "muster/base/result.h"
#include "muster/runtime/byte_ring.h"
#include "muster/runtime/fd.h"
#include "muster/runtime/mapping.h"

namespace muster::comm::shm {

/// How an end of a link says that it closes of its own accord.
enum class Farewell : std::uint8_t {
  none,
  closing,    ///< its driver closes
  forgetting  ///< it forgets this peer
};

/// How many blocks of the sender's arena one receiver may hold.
inline constexpr std::uint32_t kSlots = 4096;

/// The memory of one link, from one sender to one receiver: a header, a table with one byte for
/// each block that the receiver holds, and the ring (see README.md). The sender makes it, the
/// receiver maps it; neither trusts what the other writes there.
class LinkMemory {
 public:
  /// For the sender. `ring_bytes` is a power of two and a multiple of the page size.
  [[nodiscard]] static Result<LinkMemory> create(std::size_t ring_bytes);
  /// For the receiver: checks size, seals, magic and version.
  [[nodiscard]] static Result<LinkMemory> open(FileDescriptor file);

  /// Only on the sender's side, until it was passed on.
  [[nodiscard]] FileDescriptor& file() { return file_; }

  [[nodiscard]] RingIndices& indices() const;
  [[nodiscard]] std::byte* ring() const;
  [[nodiscard]] std::size_t ring_bytes() const { return ring_bytes_; }
  /// 1 while the receiver may read the block that was sent under this slot.
  [[nodiscard]] std::atomic<std::uint8_t>& slot(std::uint32_t index) const;

  /// Said by the sender before it closes the link of its own accord.
  void say(Farewell farewell);
  [[nodiscard]] Farewell farewell() const;
  /// Set by a sender short of memory or slots: the receiver is to copy what it takes, not to hold
  /// it.
  [[nodiscard]] std::atomic<std::uint32_t>& copy_please() const;

 private:
  struct Header;
  LinkMemory(FileDescriptor file, Mapping mapping, std::size_t ring_bytes)
      : file_(std::move(file)), mapping_(std::move(mapping)), ring_bytes_(ring_bytes) {}
  [[nodiscard]] Header& header() const;

  FileDescriptor file_;
  Mapping mapping_;
  std::size_t ring_bytes_;
};

}  // namespace muster::comm::shm
