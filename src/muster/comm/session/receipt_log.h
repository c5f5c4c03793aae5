#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "muster/base/name.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/message/ids.h"

namespace muster::comm {

/// Which notifications wait for their receipt and which have got it: two bits each, in blocks of
/// `kSessions` with one peer. Most programs never ask for receipts, so it has to be cheap and
/// bounded: the oldest of `kMostBlocks` goes first. Not thread-safe.
class ReceiptLog {
 public:
  static constexpr std::size_t kSessions = 512;
  static constexpr std::size_t kMostBlocks = std::size_t{1} << 14;

  enum class Receipt : std::uint8_t {
    awaited,
    repeated,
    unknown,  ///< of a notification that was never added (as a forwarded one), or is forgotten
  };

  /// A notification is sent, perhaps again.
  void add(const SessionId& session, PeerId peer) {
    if (last_block_ == nullptr || place_of(session, peer) != last_place_) [[unlikely]]
      go_to(place_of(session, peer));
    last_block_->waiting[word_of(session)] |= bit_of(session);
  }
  /// It could not be sent after all.
  void cancel(const SessionId& session, PeerId peer);
  /// A receipt has come.
  Receipt settle(const SessionId& session, PeerId peer);
  /// The peer is gone: what it owes will not come.
  void lose(PeerId peer, const Name& name);
  /// Whether somebody owed something that nobody was told of.
  [[nodiscard]] bool has_lost() const { return !lost_.empty(); }
  /// Who owed a receipt of this session that will not come; each is told once.
  [[nodiscard]] std::optional<Name> take_lost(const SessionId& session);

  [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }

 private:
  struct Place {
    InstanceId origin;
    std::uint64_t block;  // the session's number / kSessions
    PeerId peer;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const noexcept;
  };
  using Bits = std::array<std::uint64_t, kSessions / 64>;
  struct Block {
    Bits waiting{};
    Bits settled{};
  };
  using Blocks = std::unordered_map<Place, Block, PlaceHash>;
  /// What a peer that is gone owed of a block.
  struct Owed {
    Name name;
    Bits bits;
  };

  static constexpr PeerId kAnybody{0xFFFFFFFFu};

  static Place place_of(const SessionId& session, PeerId peer) {
    return {session.origin, session.number / kSessions, peer};
  }
  static std::size_t word_of(const SessionId& session) { return session.number % kSessions / 64; }
  static std::uint64_t bit_of(const SessionId& session) {
    return std::uint64_t{1} << (session.number % 64);
  }
  void go_to(const Place& place);

  Blocks blocks_;
  std::deque<Place> order_;  // of blocks_, oldest first
  Place last_place_{};       // where `add` was last, mostly the next one too
  Block* last_block_ = nullptr;
  std::unordered_map<Place, std::vector<Owed>, PlaceHash> lost_;  // places with `kAnybody`
  std::deque<Place> lost_order_;  // where something was put into lost_, oldest first
};

}  // namespace muster::comm
