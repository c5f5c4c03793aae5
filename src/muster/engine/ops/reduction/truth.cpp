#include "muster/engine/ops/reduction/truth.h"

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/reduction/truth.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "muster/engine/ops/reduction/loops-inl.h"
#include "muster/engine/ops/reduction/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::reduction::HWY_NAMESPACE {

// Everything is a bool on its way in.
HWY_INLINE std::uint32_t count_true(const bool* in, std::size_t count) {
  return sum_of<std::uint32_t>(count, [&](std::size_t i) { return std::uint32_t{in[i]}; });
}

struct Any {
  using Item = bool;
  using State = bool;
  using Result = bool;
  static HWY_INLINE State none() { return false; }
  static HWY_INLINE State take(State state, Item item, Index) { return state | item; }
  static HWY_INLINE State run(const Item* in, std::size_t count, Index) {
    return count_true(in, count) > 0;
  }
  static HWY_INLINE State join(State a, Index, State b, Index) { return a || b; }
  static HWY_INLINE Result finish(State state, Index, double) { return state; }
};

struct All : Any {
  static HWY_INLINE State none() { return true; }
  static HWY_INLINE State take(State state, Item item, Index) { return state & item; }
  static HWY_INLINE State run(const Item* in, std::size_t count, Index) {
    return count_true(in, count) == count;
  }
  static HWY_INLINE State join(State a, Index, State b, Index) { return a && b; }
};

ReduceLoop any_loop() { return loop_of<Any>(); }
ReduceLoop all_loop() { return loop_of<All>(); }

}  // namespace muster::engine::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {

namespace reduction {
HWY_EXPORT(any_loop);
HWY_EXPORT(all_loop);

ReduceLoops of_all_types(const ReduceLoop& loop) {
  ReduceLoops loops(kTypes, loop);
  for (std::size_t type = 0; type < kTypes; ++type) loops[type].input = static_cast<Type>(type);
  return loops;
}
}  // namespace reduction

void register_truth(Registry& registry) {
  using namespace reduction;  // NOLINT: HWY_DYNAMIC_DISPATCH takes a plain name
  static const Reducer kAny{of_all_types(HWY_DYNAMIC_DISPATCH(any_loop)())};
  static const Reducer kAll{of_all_types(HWY_DYNAMIC_DISPATCH(all_loop)())};
  static const OperatorRow kRows[] = {
      reduction_row("any", "whether any item along axes is true", kAny),
      reduction_row("all", "whether all items along axes are true", kAll),
  };
  for (const OperatorRow& row : kRows) registry.add(row);
}

Tensor any(const Tensor& x, const Over& over) { return apply_one("any", {x}, over.attributes()); }
Tensor all(const Tensor& x, const Over& over) { return apply_one("all", {x}, over.attributes()); }

}  // namespace muster::engine
#endif
