#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muster/net/http/http_exchange.h"
#include "muster/service/protocol/chunks.h"
#include "muster/service/web/byte_gate.h"
#include "muster/service/web/cluster_link.h"
#include "muster/service/web/tensor_places.h"

namespace muster::service {

/// Passes chunks between clients and workers, and finds another worker where one is gone.
/// Thread-safe.
class ChunkTransfers {
 public:
  /// `link` outlives it.
  explicit ChunkTransfers(ClusterLink& link) : link_(link) {}

  /// Answers with the items of a chunk.
  void download(net::HttpExchange& exchange, engine::SessionId session, const std::string& key,
                std::size_t number);
  /// Reads the items of a chunk and gives them to a worker.
  void upload(net::HttpExchange& exchange, engine::SessionId session, const std::string& key,
              std::size_t number);
  /// Has a worker take the items of a chunk from the memory of a client that is on its host.
  [[nodiscard]] Answer take(engine::SessionId session, const std::string& key, std::size_t number,
                            ClientMemory from);
  /// Asks where the chunks of an upload are to go.
  [[nodiscard]] Answer declare(engine::SessionId session, const std::string& key,
                               const nlohmann::json& dtype, const nlohmann::json& splits,
                               TimePoint deadline);

  void forget(engine::SessionId session, const std::vector<std::string>& keys);
  void forget(engine::SessionId session);

  [[nodiscard]] std::uint64_t bytes_down() const { return bytes_down_; }
  [[nodiscard]] std::uint64_t bytes_up() const { return bytes_up_; }

 private:
  using Places = PlacesCache::Places;

  /// Null with the answer for the client where there are none.
  [[nodiscard]] Places locate(engine::SessionId session, const std::string& key, TimePoint since,
                              TimePoint deadline, Answer& refusal);
  [[nodiscard]] Places destination(engine::SessionId session, const std::string& key,
                                   TimePoint deadline, Answer& refusal);
  /// A chunk that a client may give, and how many bytes its items have.
  struct Target {
    TensorPlaces::Chunk chunk;
    engine::Meta meta;
    std::size_t bytes = 0;
  };
  /// Nothing, with the answer for the client, where it may not.
  [[nodiscard]] std::optional<Target> target(engine::SessionId session, const std::string& key,
                                             std::size_t number, TimePoint deadline,
                                             Answer& refused);
  [[nodiscard]] Buffer find_chunk(engine::SessionId session, const std::string& key,
                                  std::size_t number, TimePoint deadline, Answer& refusal);
  /// The workers that may take a chunk, the best one first.
  [[nodiscard]] std::vector<std::string> candidates(const TensorPlaces::Chunk& chunk) const;
  [[nodiscard]] Answer deliver(const TensorPlaces::Chunk& chunk, std::string_view tag,
                               const comm::Body& body, TimePoint deadline);

  ClusterLink& link_;  ///< see the constructor
  PlacesCache held_;
  PlacesCache uploads_;
  ByteGate gate_{std::size_t{512} << 20};
  std::atomic<std::uint64_t> bytes_down_ = 0;
  std::atomic<std::uint64_t> bytes_up_ = 0;
};

}  // namespace muster::service
