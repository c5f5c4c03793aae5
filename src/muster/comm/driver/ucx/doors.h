#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/driver/ucx/credentials.h"
#include "muster/comm/driver/ucx/wire.h"
#include "muster/comm/link/frame.h"

namespace muster::comm {

/// The receiving side: who may send here, and the frames that their chunks make. A pure state
/// machine. Whatever it is given comes from the network.
///
/// A door is opened for everybody who sends a challenge that only a member can make, and becomes
/// that member's when the first chunk with the right token comes, which nobody can make who did not
/// get our answer. An earlier door of the same instance is gone then.
class UcxDoors {
 public:
  /// Doors that nobody has come through are forgotten, oldest first, beyond this many.
  static constexpr std::size_t kMaxUnused = 1024;

  UcxDoors(const UcxCredentials& credentials, InstanceId self, Duration forget_after)
      : credentials_(credentials), self_(self), forget_after_(forget_after) {}

  /// What to answer; nothing for a stranger.
  [[nodiscard]] std::optional<UcxAnswer> knock(const UcxChallenge& challenge, TimePoint now);

  enum class Verdict : std::uint8_t {
    more,       ///< taken; the frame is not whole yet
    whole,      ///< taken; `frame` is whole
    stranger,   ///< dropped: no such door, or not its token
    malformed,  ///< dropped: not what a member sends
    lost,       ///< dropped: the beginning of its frame is missing
  };
  [[nodiscard]] Verdict take(const UcxChunk& chunk, ByteSpan bytes, TimePoint now, Frame& frame);

  /// When a chunk of this member came last.
  [[nodiscard]] std::optional<TimePoint> heard(InstanceId member) const;

  [[nodiscard]] std::size_t size() const { return doors_.size(); }

 private:
  /// A frame of which some chunks are there.
  struct Partial {
    std::uint64_t number = 0;
    std::uint64_t next = 0;  // offset
    std::uint64_t total = 0;
    std::vector<std::uint64_t> part_bytes;
    std::vector<std::shared_ptr<std::byte[]>> memory;  // the head, then the parts
    std::vector<std::uint64_t> sizes;                  // of those, once known
    std::size_t filling = 0;                           // index into both
    std::uint64_t filled = 0;                          // bytes of that
  };
  struct Door {
    UcxPassage passage;
    UcxNonce answer{};
    UcxToken token{};
    bool used = false;
    TimePoint heard;
    std::optional<Partial> partial;
  };

  void forget_old(TimePoint now);
  void come_through(Door& door);
  [[nodiscard]] static bool begin(Partial& partial, const UcxChunk& chunk);
  [[nodiscard]] static bool fill(Partial& partial, ByteSpan bytes);
  [[nodiscard]] static bool make_room(Partial& partial);
  [[nodiscard]] static Frame finish(Partial partial);

  const UcxCredentials& credentials_;  // the transport's
  InstanceId self_;
  Duration forget_after_;
  std::unordered_map<std::uint64_t, Door> doors_;  // by way
  std::deque<std::uint64_t> unused_;               // ways, oldest first; may name used ones
  std::unordered_map<std::uint64_t, std::uint64_t> way_of_;  // by instance: the door it uses
  TimePoint looked_;
};

}  // namespace muster::comm
