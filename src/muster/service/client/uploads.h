#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "muster/engine/graph/tensor.h"
#include "muster/engine/value/array.h"
#include "muster/runtime/process_memory.h"
#include "muster/service/client/connection.h"

namespace muster::service {

/// What a session has uploaded. Data is known by where it lies and who owns it, so one array goes
/// over once, and is released when its owner is gone. Thread-safe.
class Uploads {
 public:
  Uploads(std::shared_ptr<Connection> connection, std::size_t connections)
      : connection_(std::move(connection)), connections_(connections) {}

  /// The key of an array on the cluster, where it is cut as `splits` say.
  [[nodiscard]] std::string array(const engine::Array& array, const engine::Splits& splits,
                                  const std::stop_token& stop);
  /// Likewise for a tensor that was computed elsewhere.
  [[nodiscard]] std::string stored(const std::shared_ptr<const engine::Stored>& stored,
                                   const std::stop_token& stop);
  /// Forgets which of these the cluster has lost a part of: they are uploaded again when they are
  /// wanted next.
  void forget_lost(const std::vector<std::string>& keys, const std::stop_token& stop);
  /// Releases what nobody here has any more.
  void sweep();

 private:
  using ChunkOf = std::function<engine::Array(std::size_t number)>;
  struct Known {
    const void* place = nullptr;
    std::weak_ptr<const void> owner;
    engine::Meta meta;
    engine::Strides strides;
    engine::Splits splits;
    std::string key;
  };

  [[nodiscard]] std::string find(const Known& like) const;
  std::string upload(Known known, const ChunkOf& chunk_of, const std::stop_token& stop);
  void send(const Known& known, const ChunkOf& chunk_of, const std::stop_token& stop) const;

  /// Whether a worker took the items from our memory; if not, they have to be sent.
  [[nodiscard]] bool hand_over(const std::string& path, const engine::Array& plain,
                               const std::stop_token& stop) const;

  std::shared_ptr<Connection> connection_;
  std::size_t connections_;
  const MemoryProof proof_;
  mutable std::mutex mutex_;
  std::vector<Known> known_;  ///< `mutex_` must be held
};

}  // namespace muster::service
