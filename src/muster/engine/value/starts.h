#pragma once

#include <numeric>

#include "muster/engine/value/shape.h"

namespace muster::engine {

/// Where chunks begin in the whole, for those who ask for all of them: `start_of` adds up the
/// extents before each. Only for known splits.
class Starts {
 public:
  explicit Starts(const Splits& splits) {
    for (const auto& extents : splits) {
      auto& starts = starts_.emplace_back(extents.size());
      std::exclusive_scan(extents.begin(), extents.end(), starts.begin(), Index{0});
    }
  }
  [[nodiscard]] Shape operator()(const Shape& position) const {
    return extents_at(starts_, position);
  }

 private:
  Splits starts_;  ///< along each axis, where each chunk begins
};

}  // namespace muster::engine
