#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/engine/graph/tensor.h"
#include "muster/engine/schedule/ids.h"
#include "muster/service/protocol/ask.h"

namespace muster::service {

/// Where the chunks of a tensor are, or are to go.
struct TensorPlaces {
  struct Chunk {
    engine::ChunkId id;
    std::vector<std::string> workers;
    bool lost = false;  ///< nobody has it, and nobody can make it
  };
  engine::DType dtype;
  engine::Splits splits;
  std::vector<Chunk> chunks;
  TimePoint learned{};

  /// What it takes in memory, about.
  [[nodiscard]] std::size_t footprint() const;
};

/// Reads what the scheduler answers to `tensor` (holders) and `upload` (a worker for each chunk;
/// the dtype and splits are those that were asked for). Null where that is not what it should be.
[[nodiscard]] std::shared_ptr<const TensorPlaces> read_places(engine::SessionId session,
                                                              const nlohmann::json& answer);

/// Remembers places for a while, because clients fetch tensors chunk by chunk: as many as fit into
/// `most_bytes`, and the newest whatever its size, because somebody is fetching it and would ask
/// for all of it again with every chunk. Thread-safe.
class PlacesCache {
 public:
  explicit PlacesCache(std::size_t most_bytes = std::size_t{64} << 20) : most_(most_bytes) {}

  using Places = std::shared_ptr<const TensorPlaces>;
  /// Null if it is not known, or learned before `since`.
  [[nodiscard]] Places find(engine::SessionId session, const std::string& key,
                            TimePoint since) const;
  void keep(engine::SessionId session, const std::string& key, Places places);
  void forget(engine::SessionId session, const std::vector<std::string>& keys);
  void forget(engine::SessionId session);
  [[nodiscard]] std::size_t bytes() const;

 private:
  using Key = std::pair<engine::SessionId, std::string>;
  struct Kept {
    Places places;
    std::size_t bytes = 0;
  };
  using Map = std::map<Key, Kept>;
  using Ages = std::set<std::pair<TimePoint, Key>>;

  Map::iterator drop(Map::iterator which);  ///< `mutex_` must be held

  const std::size_t most_;
  mutable std::mutex mutex_;  ///< guards what follows
  Map places_;
  Ages by_age_;  ///< of all of them, the oldest first
  std::size_t bytes_ = 0;
};

}  // namespace muster::service
