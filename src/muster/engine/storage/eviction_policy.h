#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "muster/engine/storage/chunk_key.h"

namespace muster::engine {

/// What the owner of the memory is to do with a chunk.
struct Eviction {
  enum class Kind : bool {
    forget,  ///< its copy on disk stays: the memory can be freed at once
    spill,   ///< it must be written first
  };
  Kind kind = Kind::spill;
  ChunkKey key;
  std::size_t bytes = 0;
  bool operator==(const Eviction&) const = default;
};

enum class MaySpill : bool { no, yes };

/// Decides which chunks leave memory when room is needed: those that are cheap to have again for
/// the room they take, and were not used for long. This is GreedyDual-Size (Cao and Irani, 1997): a
/// chunk's priority is the `clock` at its last use plus its cost per byte; the lowest goes first
/// and the clock rises to its priority, so that what is not used ages. Among equals the longest
/// unused goes first, so equal costs give LRU.
///
/// It only decides: no memory, no files, no time. Pinned chunks never go. Not thread-safe.
class EvictionPolicy {
 public:
  /// `seconds`: what it took to make the chunk; 0 if that is not known. `on_disk`: there is a copy.
  void add(ChunkKey key, std::size_t bytes, double seconds, bool on_disk);
  /// A victim that stayed after all: it goes first the next time.
  void put_back(ChunkKey key, std::size_t bytes, double seconds, bool on_disk);
  void remove(ChunkKey key);
  void touch(ChunkKey key);
  void pin(ChunkKey key);
  void unpin(ChunkKey key);
  /// Somebody will use the chunk soon, whether it is here yet or not: it goes after all others.
  /// Counts.
  void expect(ChunkKey key);
  void unexpect(ChunkKey key);

  /// Chunks that together have at least `bytes`, or all there are; with `MaySpill::no` only those
  /// that need not be written. They are no longer known here afterwards.
  [[nodiscard]] std::vector<Eviction> make_room(std::size_t bytes, MaySpill may_spill);

  [[nodiscard]] std::size_t size() const { return chunks_.size(); }
  [[nodiscard]] bool contains(ChunkKey key) const { return chunks_.contains(key); }

 private:
  struct Chunk {
    std::size_t bytes = 0;
    double cost = 0;  ///< per byte, in units of what spilling costs
    bool on_disk = false;
    bool pinned = false;
    bool expected = false;
    double priority = 0;
    std::uint64_t used = 0;  ///< number of the last use
  };
  using Rank = std::tuple<bool, double, std::uint64_t, ChunkKey>;

  void insert(ChunkKey key, Chunk chunk);
  void set_expected(ChunkKey key, bool expected);
  [[nodiscard]] static Rank rank(ChunkKey key, const Chunk& chunk) {
    return {chunk.expected, chunk.priority, chunk.used, key};
  }

  double clock_ = 0;
  std::uint64_t uses_ = 0;
  std::unordered_map<ChunkKey, Chunk> chunks_;
  std::set<Rank> unpinned_;
  std::unordered_map<ChunkKey, std::size_t> expected_;  ///< how many will use it
};

}  // namespace muster::engine
