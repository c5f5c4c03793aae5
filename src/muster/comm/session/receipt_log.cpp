#include "muster/comm/session/receipt_log.h"

#include <algorithm>

namespace muster::comm {

std::size_t ReceiptLog::PlaceHash::operator()(const Place& place) const noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ull;
  return static_cast<std::size_t>(
      (place.origin.value() ^ place.block ^ (std::uint64_t{place.peer.value()} << 40u)) * kOdd);
}

void ReceiptLog::go_to(const Place& place) {
  const auto [block, is_new] = blocks_.try_emplace(place);
  if (is_new) order_.push_back(place);
  last_place_ = place;
  last_block_ = &block->second;
  if (blocks_.size() > kMostBlocks) {
    blocks_.erase(order_.front());
    order_.pop_front();
  }
}

void ReceiptLog::cancel(const SessionId& session, PeerId peer) {
  const auto block = blocks_.find(place_of(session, peer));
  if (block != blocks_.end()) block->second.waiting[word_of(session)] &= ~bit_of(session);
}

ReceiptLog::Receipt ReceiptLog::settle(const SessionId& session, PeerId peer) {
  const auto block = blocks_.find(place_of(session, peer));
  if (block == blocks_.end()) return Receipt::unknown;
  std::uint64_t& waiting = block->second.waiting[word_of(session)];
  std::uint64_t& settled = block->second.settled[word_of(session)];
  const std::uint64_t bit = bit_of(session);
  if ((waiting & bit) == 0) return (settled & bit) != 0 ? Receipt::repeated : Receipt::unknown;
  waiting &= ~bit;
  settled |= bit;
  return Receipt::awaited;
}

void ReceiptLog::lose(PeerId peer, const Name& name) {
  last_block_ = nullptr;
  std::erase_if(order_, [&](const Place& place) { return place.peer == peer; });
  std::erase_if(blocks_, [&](const auto& item) {
    const auto& [place, block] = item;
    if (place.peer != peer) return false;
    if (block.waiting != Bits{}) {
      const Place anybodys{place.origin, place.block, kAnybody};
      lost_[anybodys].push_back({name, block.waiting});
      lost_order_.push_back(anybodys);
    }
    return true;
  });
  for (; lost_order_.size() > kMostBlocks; lost_order_.pop_front()) {
    const auto oldest = lost_.find(lost_order_.front());
    if (oldest == lost_.end()) continue;  // all was told
    oldest->second.erase(oldest->second.begin());
    if (oldest->second.empty()) lost_.erase(oldest);
  }
}

std::optional<Name> ReceiptLog::take_lost(const SessionId& session) {
  const auto lost = lost_.find(place_of(session, kAnybody));
  if (lost == lost_.end()) return std::nullopt;
  std::vector<Owed>& all = lost->second;
  const auto owed = std::find_if(all.begin(), all.end(), [&](const Owed& one) {
    return (one.bits[word_of(session)] & bit_of(session)) != 0;
  });
  if (owed == all.end()) return std::nullopt;
  Name name = owed->name;
  owed->bits[word_of(session)] &= ~bit_of(session);
  if (owed->bits == Bits{}) all.erase(owed);
  if (all.empty()) lost_.erase(lost);
  return name;
}

}  // namespace muster::comm
