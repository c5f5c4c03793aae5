#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "muster/engine/graph/tensor.h"
#include "muster/engine/schedule/ids.h"

namespace muster::service {

/// A computed tensor whose chunks are on workers. As long as one of these lives, the graph that
/// made them keeps wanting them.
class ClusterStored final : public engine::Stored {
 public:
  /// Called with the graph and its chunks when nobody needs them any more, by whatever thread finds
  /// that out.
  using Gone = std::function<void(engine::GraphId graph, std::vector<std::uint32_t> chunks)>;

  ClusterStored(engine::GraphId graph, engine::DType dtype, engine::Splits splits,
                std::vector<std::uint32_t> chunks, Gone gone)
      : graph_(graph),
        dtype_(dtype),
        splits_(std::move(splits)),
        chunks_(std::move(chunks)),
        gone_(std::move(gone)) {}
  ~ClusterStored() override {
    if (gone_) gone_(graph_, std::move(chunks_));
  }
  ClusterStored(const ClusterStored&) = delete;
  ClusterStored& operator=(const ClusterStored&) = delete;

  [[nodiscard]] const engine::Splits& splits() const override { return splits_; }
  [[nodiscard]] engine::DType dtype() const override { return dtype_; }
  /// Throws ArrayError: the scheduler has no items.
  [[nodiscard]] engine::Array chunk(std::size_t number) const override;
  [[nodiscard]] engine::Array chunk_here(std::size_t) const override { return {}; }

  [[nodiscard]] engine::GraphId graph() const { return graph_; }
  /// Their numbers in the session, in grid order.
  [[nodiscard]] const std::vector<std::uint32_t>& chunks() const { return chunks_; }

 private:
  engine::GraphId graph_;
  engine::DType dtype_;
  engine::Splits splits_;
  std::vector<std::uint32_t> chunks_;
  Gone gone_;
};

}  // namespace muster::service
