#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "muster/base/name.h"

namespace muster::comm {

/// The names of the peers by their type: what `Proxy::peers` returns.
using PeersByType = std::map<Name, std::vector<Name>>;

/// Where a register table learns who its peers are.
struct PeerSource {
  /// The peers that are there now.
  std::function<PeersByType()> peers = {};
  /// Changes whenever `peers` would answer differently. Without it `peers` is asked for every
  /// message, which costs with many peers.
  std::function<std::uint64_t()> version = {};
};

/// The peers as they were at the last `refresh`, by name and by type. Not thread-safe.
class PeerSnapshot {
 public:
  explicit PeerSnapshot(PeerSource source);

  /// True if peers have come or gone.
  bool refresh();

  /// The type of a peer that is there or was; empty for others. The messages of a peer outlive it.
  [[nodiscard]] Name type_of(std::string_view name) const;
  /// How many peers have this type or this name; all of them for `*`.
  [[nodiscard]] std::size_t count(std::string_view source) const;

 private:
  using TypeByName = std::unordered_map<Name, Name, NameHash, NameEqual>;

  void remember_former();

  PeerSource source_;
  std::optional<std::uint64_t> version_;
  PeersByType peers_;
  TypeByName type_by_name_;
  TypeByName former_;
};

}  // namespace muster::comm
