#pragma once

#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/service/protocol/chunks.h"

namespace muster::service {

/// Where chunks of others come from. Thread-safe.
class ChunkSource {
 public:
  virtual ~ChunkSource() = default;
  /// One buffer for each chunk, empty where the holder has it not. Fails when the holder does not
  /// answer.
  [[nodiscard]] virtual Result<GotChunks> get(const std::string& holder,
                                              const std::vector<engine::ChunkId>& chunks) = 0;
};

struct PeerPatience {
  /// For a holder that this process has not met yet, or that is away.
  Duration meet = std::chrono::seconds(2);
  /// For one answer.
  Duration answer = std::chrono::seconds(60);
  int tries = 2;
};

/// Asks other workers.
class PeerChunks final : public ChunkSource {
 public:
  /// `proxy` outlives it. When that is closed, all waits end.
  explicit PeerChunks(comm::Proxy& proxy, PeerPatience patience = {})
      : proxy_(proxy), patience_(patience) {}

  [[nodiscard]] Result<GotChunks> get(const std::string& holder,
                                      const std::vector<engine::ChunkId>& chunks) override;

 private:
  [[nodiscard]] Result<comm::Replies> ask(const std::string& holder,
                                          const std::vector<engine::ChunkId>& chunks);

  comm::Proxy& proxy_;
  const PeerPatience patience_;
};

}  // namespace muster::service
