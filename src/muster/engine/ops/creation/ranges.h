#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// start, start + step, ... up to but without `stop`.
[[nodiscard]] Tensor arange(std::int64_t start, std::int64_t stop, std::int64_t step = 1,
                            Attribute::Value chunk_size = {});
[[nodiscard]] Tensor arange(double start, double stop, double step,
                            Attribute::Value chunk_size = {});
/// `count` numbers at equal distances; the last is `stop`.
[[nodiscard]] Tensor linspace(double start, double stop, Index count = 50,
                              Attribute::Value chunk_size = {});

void register_ranges(Registry& registry);

}  // namespace muster::engine
