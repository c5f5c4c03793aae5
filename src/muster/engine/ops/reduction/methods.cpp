#include "muster/engine/graph/tensor.h"
#include "muster/engine/ops/reduction/over.h"

namespace muster::engine {

namespace {
Tensor reduce(std::string_view name, const Tensor& x, const Over& over) {
  return apply_one(name, {x}, over.attributes());
}
}  // namespace

Tensor Tensor::sum() const { return sum(Over()); }
Tensor Tensor::sum(const Over& over) const { return reduce("sum", *this, over); }
Tensor Tensor::prod() const { return prod(Over()); }
Tensor Tensor::prod(const Over& over) const { return reduce("prod", *this, over); }
Tensor Tensor::mean() const { return mean(Over()); }
Tensor Tensor::mean(const Over& over) const { return reduce("mean", *this, over); }
Tensor Tensor::min() const { return min(Over()); }
Tensor Tensor::min(const Over& over) const { return reduce("min", *this, over); }
Tensor Tensor::max() const { return max(Over()); }
Tensor Tensor::max(const Over& over) const { return reduce("max", *this, over); }
Tensor Tensor::all() const { return all(Over()); }
Tensor Tensor::all(const Over& over) const { return reduce("all", *this, over); }
Tensor Tensor::any() const { return any(Over()); }
Tensor Tensor::any(const Over& over) const { return reduce("any", *this, over); }

}  // namespace muster::engine
