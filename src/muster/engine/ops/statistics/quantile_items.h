#pragma once

#include <algorithm>
#include <vector>

#include "muster/engine/graph/attributes.h"
#include "muster/engine/kernels/ufunc.h"
#include "muster/engine/ops/statistics/ranks.h"

namespace muster::engine {

/// Which quantiles are wanted, as kernels find it in their attributes.
struct QuantilesWanted {
  explicit QuantilesWanted(const Attributes& attributes);

  QuantileMethod method;
  std::vector<double> q;
  Shape q_shape;
  bool skip_nan;
  DType dtype;  ///< of the results
};

/// What items are compared as: fewer types than there are (i64, u64, f32, f64).
[[nodiscard]] constexpr Type compared_as(Type type) {
  if (type == Type::f16 || type == Type::f32) return Type::f32;
  if (type == Type::f64 || type == Type::u64) return type;
  return Type::i64;
}

/// Calls `f` with a value of the C++ type that items are compared as.
template <class F>
decltype(auto) with_compared(Type compared, F&& f) {
  switch (compared) {
    case Type::f32: return f(float{});
    case Type::f64: return f(double{});
    case Type::u64: return f(std::uint64_t{});
    default: return f(std::int64_t{});
  }
}

/// Writes quantiles as items of the result.
class QuantileWriter {
 public:
  QuantileWriter(const QuantilesWanted& wanted, Type compared)
      : method_(wanted.method),
        cast_item_(cast_loop(compared, wanted.dtype.type)),
        cast_double_(cast_loop(Type::f64, wanted.dtype.type)) {}

  template <class T>
  void put(T before, T after, double share, std::byte* to) const {
    const auto* const item = reinterpret_cast<const std::byte*>(&before);
    if (is_discrete(method_)) return cast_item_(&item, to, 1);
    put_double(between(static_cast<double>(before), static_cast<double>(after), share), to);
  }
  /// There is no quantile of nothing.
  void put_none(std::byte* to) const;

 private:
  void put_double(double value, std::byte* to) const {
    const auto* const item = reinterpret_cast<const std::byte*>(&value);
    cast_double_(&item, to, 1);
  }
  [[nodiscard]] double between(double a, double b, double share) const;

  QuantileMethod method_;
  Loop cast_item_;
  Loop cast_double_;
};

/// Brings the items of some ranks to the places where sorting would put them.
template <class T>
void place_ranks(T* begin, Index count, std::vector<Index> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  constexpr std::size_t kManyRanks = 24;
  if (ranks.size() > kManyRanks) {
    std::sort(begin, begin + count);
    return;
  }
  Index done = 0;
  for (const Index rank : ranks) {
    std::nth_element(begin + done, begin + rank, begin + count);
    done = rank + 1;
  }
}

}  // namespace muster::engine
