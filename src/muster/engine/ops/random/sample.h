#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "muster/engine/graph/operator.h"

namespace muster::engine::random {

/// Which numbers, and how they are cut. The same key gives the same numbers for every chunking and
/// any number of threads.
struct SampleOptions {
  std::uint64_t key = 0;
  /// Of the result; nothing for what the parameters broadcast to.
  std::optional<Shape> size;
  Attribute::Value chunk_size;
};

/// Numbers of the distribution that has this operator, such as "random.gamma". Parameters are
/// numbers of dtype float64, or tensors that broadcast to the size.
[[nodiscard]] Tensor sample(std::string_view distribution, std::vector<Tensor> parameters,
                            const SampleOptions& options);

[[nodiscard]] Tensor uniform(Shape size, std::uint64_t key, double low = 0, double high = 1);
[[nodiscard]] Tensor normal(Shape size, std::uint64_t key, double loc = 0, double scale = 1);
/// From `low` up to, but not including, `high`.
[[nodiscard]] Tensor integers(Shape size, std::uint64_t key, std::int64_t low, std::int64_t high);

void register_sample(Registry& registry);

}  // namespace muster::engine::random
