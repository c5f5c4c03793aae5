#include "muster/comm/driver/ucx/doors.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace muster::comm {
namespace {

// As many as a batch of the link layer may hold; a body has at most 4096.
constexpr std::uint32_t kMaxParts = 1 << 16;
constexpr std::uint64_t kMaxFrame = std::uint64_t{1} << 41;  // a body has at most 1 TiB
constexpr std::uint64_t kMaxHead = std::uint64_t{1} << 32;

}  // namespace

std::optional<UcxAnswer> UcxDoors::knock(const UcxChallenge& challenge, TimePoint now) {
  const UcxPassage& passage = challenge.passage;
  if (passage.destination != self_.value() || passage.source == 0) return std::nullopt;
  if (!UcxCredentials::same(challenge.mac, credentials_.challenge_mac(passage)))
    return std::nullopt;
  forget_old(now);
  auto [found, is_new] = doors_.try_emplace(passage.way);
  Door& door = found->second;
  if (is_new) {
    door.passage = passage;
    door.answer = UcxCredentials::fresh_nonce();
    door.token = credentials_.token(passage, door.answer);
    door.heard = now;
    unused_.push_back(passage.way);
  } else if (door.passage != passage) {
    return std::nullopt;
  }
  return UcxAnswer{.way = passage.way,
                   .nonce = door.answer,
                   .mac = credentials_.answer_mac(passage, door.answer)};
}

void UcxDoors::forget_old(TimePoint now) {
  while (unused_.size() >= kMaxUnused) {
    const auto found = doors_.find(unused_.front());
    if (found != doors_.end() && !found->second.used) doors_.erase(found);
    unused_.pop_front();
  }
  if (now - looked_ < forget_after_) return;
  looked_ = now;
  std::erase_if(doors_, [&](const auto& item) { return now - item.second.heard > forget_after_; });
  std::erase_if(way_of_, [&](const auto& item) { return !doors_.contains(item.second); });
}

void UcxDoors::come_through(Door& door) {
  door.used = true;
  const auto [known, is_new] = way_of_.try_emplace(door.passage.source, door.passage.way);
  if (!is_new) doors_.erase(std::exchange(known->second, door.passage.way));
}

std::optional<TimePoint> UcxDoors::heard(InstanceId member) const {
  const auto way = way_of_.find(member.value());
  if (way == way_of_.end()) return std::nullopt;
  const auto door = doors_.find(way->second);
  return door == doors_.end() ? std::nullopt : std::optional(door->second.heard);
}

UcxDoors::Verdict UcxDoors::take(const UcxChunk& chunk, ByteSpan bytes, TimePoint now,
                                 Frame& frame) {
  const auto found = doors_.find(chunk.way);
  if (found == doors_.end()) return Verdict::stranger;
  Door& door = found->second;
  if (!UcxCredentials::same(chunk.token, door.token)) return Verdict::stranger;
  if (!door.used) come_through(door);
  door.heard = now;
  if (chunk.offset == 0) {
    door.partial = Partial{};
    if (!begin(*door.partial, chunk)) {
      door.partial.reset();
      return Verdict::malformed;
    }
  }
  if (!door.partial) return Verdict::lost;
  Partial& partial = *door.partial;
  if (partial.number != chunk.frame || partial.next != chunk.offset) {
    door.partial.reset();
    return Verdict::lost;
  }
  if (bytes.size() > partial.total - partial.next || !fill(partial, bytes)) {
    door.partial.reset();
    return Verdict::malformed;
  }
  partial.next += bytes.size();
  if (partial.next < partial.total) return Verdict::more;
  frame = finish(*std::exchange(door.partial, std::nullopt));
  // The source that the frame names is the one that proved itself.
  const auto header = decode_header(frame);
  return header && header->source.value() != door.passage.source ? Verdict::stranger
                                                                 : Verdict::whole;
}

bool UcxDoors::begin(Partial& partial, const UcxChunk& chunk) {
  const std::uint64_t front = chunk.parts * sizeof(std::uint64_t) + chunk.head_bytes;
  if (chunk.parts > kMaxParts || chunk.head_bytes > kMaxHead || chunk.total_bytes > kMaxFrame ||
      front > chunk.total_bytes || chunk.head_bytes == 0) {
    return false;
  }
  partial.number = chunk.frame;
  partial.total = chunk.total_bytes;
  partial.part_bytes.resize(chunk.parts);
  partial.sizes = {chunk.parts * sizeof(std::uint64_t), chunk.head_bytes};
  return make_room(partial);
}

// Memory for all that is known and has none yet. The first is the list of sizes itself.
bool UcxDoors::make_room(Partial& partial) {
  try {
    while (partial.memory.size() < partial.sizes.size()) {
      partial.memory.push_back(
          std::make_shared_for_overwrite<std::byte[]>(partial.sizes[partial.memory.size()]));
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

bool UcxDoors::fill(Partial& partial, ByteSpan bytes) {
  while (partial.filling < partial.sizes.size()) {
    const std::uint64_t room = partial.sizes[partial.filling] - partial.filled;
    const std::size_t now = std::min<std::uint64_t>(room, bytes.size());
    if (now != 0) {
      std::memcpy(partial.memory[partial.filling].get() + partial.filled, bytes.data(), now);
      bytes = bytes.subspan(now);
      partial.filled += now;
    }
    if (now < room) return true;  // the chunk is used up
    if (partial.filling == 0) {
      // Now the sizes of the parts are known, and must be those that were announced.
      std::uint64_t sum = partial.sizes[0] + partial.sizes[1];
      if (!partial.part_bytes.empty())
        std::memcpy(partial.part_bytes.data(), partial.memory[0].get(), partial.sizes[0]);
      for (const std::uint64_t size : partial.part_bytes) {
        if (size > partial.total - sum) return false;
        sum += size;
        partial.sizes.push_back(size);
      }
      if (sum != partial.total || !make_room(partial)) return false;
    }
    ++partial.filling;
    partial.filled = 0;
  }
  return bytes.empty();
}

Frame UcxDoors::finish(Partial partial) {
  const auto buffer = [&](std::size_t i) {
    const std::span<std::byte> bytes(partial.memory[i].get(), partial.sizes[i]);
    if (bytes.size() <= Buffer::kInline) return Buffer::copy_of(bytes);
    return Buffer::give(bytes, std::move(partial.memory[i]));
  };
  Frame frame{.head = buffer(1), .parts = {}};
  frame.parts.reserve(partial.part_bytes.size());
  for (std::size_t i = 2; i < partial.sizes.size(); ++i) frame.parts.push_back(buffer(i));
  return frame;
}

}  // namespace muster::comm
