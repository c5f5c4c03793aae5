#include "muster/engine/ops/reduction/memory_order.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace muster::engine {

std::vector<int> memory_order(std::span<const Array> inputs, const Shape& shape) {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  const auto largest =
      std::max_element(inputs.begin(), inputs.end(),
                       [](const Array& a, const Array& b) { return a.size() < b.size(); });
  if (largest == inputs.end() || largest->is_c_contiguous() || largest->shape() != shape)
    return order;
  const Strides& strides = largest->strides();
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const Index left = std::abs(strides[static_cast<std::size_t>(a)]);
    const Index right = std::abs(strides[static_cast<std::size_t>(b)]);
    return left != right ? left > right : a < b;
  });
  return order;
}

bool is_in_order(const std::vector<int>& order) {
  return std::is_sorted(order.begin(), order.end());
}

void put_in_order(const std::byte* from, std::byte* to, std::size_t state, const Shape& kept,
                  const std::vector<int>& order) {
  Shape walked;
  for (const int axis : order) walked.push_back(kept[static_cast<std::size_t>(axis)]);
  const Strides from_strides = c_strides(walked, state);
  Strides source(kept.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    source[static_cast<std::size_t>(order[i])] = from_strides[i];
  const Walk walk(kept, {c_strides(kept, state), source});
  const Index to_step = walk.steps()[0];
  const Index from_step = walk.steps()[1];
  walk({to, const_cast<std::byte*>(from)}, [&](std::byte* const* at, Index count) {
    for (Index i = 0; i < count; ++i)
      std::memcpy(at[0] + i * to_step, at[1] + i * from_step, state);
  });
}

}  // namespace muster::engine
