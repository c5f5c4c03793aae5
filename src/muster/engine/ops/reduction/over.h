#pragma once

#include <optional>
#include <utility>

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// What a reduction goes over: `sum(x, axis(0))`, `var(x, axis(0, 1).keepdims())`; all axes if
/// nothing is said.
class Over {
 public:
  Over() = default;
  explicit Over(Ints axes) : axes_(std::move(axes)) {}

  [[nodiscard]] Over keepdims() const {
    Over out = *this;
    out.keepdims_ = true;
    return out;
  }

  [[nodiscard]] Attributes attributes() const {
    Attributes::Pairs pairs = {{"keepdims", keepdims_}};
    if (axes_) pairs.emplace_back("axis", *axes_);
    return Attributes(std::move(pairs));
  }

 private:
  std::optional<Ints> axes_;
  bool keepdims_ = false;
};

template <class... Axes>
[[nodiscard]] Over axis(Axes... axes) {
  return Over(Ints{static_cast<std::int64_t>(axes)...});
}

}  // namespace muster::engine
