#include "muster/comm/proxy/peer_snapshot.h"

#include <utility>

#include "muster/comm/event/event.h"

namespace muster::comm {
namespace {

// Enough for every peer whose messages may still be on their way; a group that changes for ever
// must not fill the memory.
constexpr std::size_t kMaxFormerPeers = 65'536;

}  // namespace

PeerSnapshot::PeerSnapshot(PeerSource source) : source_(std::move(source)) { refresh(); }

bool PeerSnapshot::refresh() {
  // Read before the peers: a change in between is then seen the next time.
  std::optional<std::uint64_t> version;
  if (source_.version) version = source_.version();
  if (version && version == version_) return false;
  PeersByType now = source_.peers();
  version_ = version;
  if (now == peers_) return false;
  remember_former();
  peers_ = std::move(now);
  type_by_name_.clear();
  for (const auto& [type, names] : peers_) {
    for (const Name& name : names) type_by_name_.insert_or_assign(name, type);
  }
  return true;
}

void PeerSnapshot::remember_former() {
  if (former_.size() + type_by_name_.size() > kMaxFormerPeers) former_.clear();
  for (auto& [name, type] : type_by_name_) former_.insert_or_assign(name, type);
}

Name PeerSnapshot::type_of(std::string_view name) const {
  if (const auto found = type_by_name_.find(name); found != type_by_name_.end())
    return found->second;
  const auto found = former_.find(name);
  return found == former_.end() ? Name() : found->second;
}

std::size_t PeerSnapshot::count(std::string_view source) const {
  if (source == kAnything) return type_by_name_.size();
  const auto of_type = peers_.find(source);
  const auto of_name = type_by_name_.find(source);
  std::size_t count = of_type == peers_.end() ? 0 : of_type->second.size();
  // A peer whose name is its type was counted with the type.
  if (of_name != type_by_name_.end() && of_name->second != source) ++count;
  return count;
}

}  // namespace muster::comm
