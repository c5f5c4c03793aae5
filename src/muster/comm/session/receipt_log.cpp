#include "muster/comm/session/receipt_log.h"

#include <iterator>
#include <utility>

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
  if (blocks_.empty()) return;
  Lost lost{name, peer, {}};
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    const auto next = std::next(it);
    if (it->first.peer == peer) lost.blocks.insert(blocks_.extract(it));
    it = next;
  }
  if (lost.blocks.empty()) return;
  last_block_ = nullptr;
  std::erase_if(order_, [&](const Place& place) { return place.peer == peer; });
  lost_blocks_ += lost.blocks.size();
  lost_.push_back(std::move(lost));
  while (lost_.size() > kMostLost || lost_blocks_ > kMostBlocks) {
    lost_blocks_ -= lost_.front().blocks.size();
    lost_.pop_front();
  }
}

std::optional<Name> ReceiptLog::take_lost(const SessionId& session) {
  for (Lost& lost : lost_) {
    const auto block = lost.blocks.find(place_of(session, lost.peer));
    if (block == lost.blocks.end()) continue;
    std::uint64_t& word = block->second.waiting[word_of(session)];
    if ((word & bit_of(session)) == 0) continue;
    word &= ~bit_of(session);
    return lost.name;
  }
  return std::nullopt;
}

}  // namespace muster::comm
