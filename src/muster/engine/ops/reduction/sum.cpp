#include "muster/engine/ops/reduction/sum.h"

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/reduction/sum.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "muster/engine/ops/reduction/loops-inl.h"
#include "muster/engine/ops/reduction/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::reduction::HWY_NAMESPACE {

/// What items become in a sum: integers wrap around, and small floats are added in double.
template <class T>
using Added = std::conditional_t<kIsComplex<T>, std::complex<double>,
                                 std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>>;

template <class T, class Acc, Nans nans>
HWY_INLINE Acc addend(T item) {
  if constexpr (nans == Nans::skip)
    if (is_nan(item)) return Acc{};
  return widened<Acc>(item);
}

template <class T, class Acc, Nans nans>
HWY_INLINE Acc sum_run(const T* in, std::size_t count) {
  if constexpr (kIsComplex<T>) {
    using Part = typename Acc::value_type;
    return Acc(
        sum_of<Part>(count, [&](std::size_t i) { return addend<T, Acc, nans>(in[i]).real(); }),
        sum_of<Part>(count, [&](std::size_t i) { return addend<T, Acc, nans>(in[i]).imag(); }));
  } else if constexpr (std::is_same_v<T, bool>) {
    // Blocks are small, so the narrower counter cannot overflow and twice the lanes fit.
    return static_cast<Acc>(
        sum_of<std::uint32_t>(count, [&](std::size_t i) { return std::uint32_t{in[i]}; }));
  } else {
    return sum_of<Acc>(count, [&](std::size_t i) { return addend<T, Acc, nans>(in[i]); });
  }
}

template <class T, class Out, Nans nans = Nans::count>
struct Sum {
  using Item = T;
  using State = Added<T>;
  using Result = Out;
  static HWY_INLINE State none() { return State{}; }
  static HWY_INLINE State take(State sum, Item item, Index) {
    return sum + addend<T, State, nans>(item);
  }
  static HWY_INLINE State run(const Item* in, std::size_t count, Index) {
    return sum_run<T, State, nans>(in, count);
  }
  static HWY_INLINE void run_four(const Item* const* in, std::size_t count, State* sums)
    requires(!kIsComplex<T> && !std::is_same_v<T, bool>)
  {
    const Item* const first = in[0];
    const Item* const second = in[1];
    const Item* const third = in[2];
    const Item* const fourth = in[3];
    four_sums(count, sums, [&](int run, std::size_t i) {
      const Item* const from = run == 0 ? first : run == 1 ? second : run == 2 ? third : fourth;
      return addend<T, State, nans>(from[i]);
    });
  }
  static HWY_INLINE State join(State sum, Index, State from, Index) { return sum + from; }
  static HWY_INLINE Result finish(State sum, Index, double) { return narrowed<Result>(sum); }
};

/// The mean of the items that are numbers.
template <class T>
struct NanMean {
  using Item = T;
  struct State {
    T sum;
    double count;
  };
  using Result = T;
  static HWY_INLINE State none() { return {}; }
  static HWY_INLINE State take(State state, Item item, Index) {
    return {state.sum + addend<T, T, Nans::skip>(item), state.count + (is_nan(item) ? 0.0 : 1.0)};
  }
  static HWY_INLINE State run(const Item* in, std::size_t count, Index) {
    return {sum_run<T, T, Nans::skip>(in, count),
            sum_of<double>(count, [&](std::size_t i) { return is_nan(in[i]) ? 0.0 : 1.0; })};
  }
  static HWY_INLINE State join(State a, Index, State b, Index) {
    return {a.sum + b.sum, a.count + b.count};
  }
  static HWY_INLINE Result finish(State state, Index, double) { return state.sum / state.count; }
};

using Complex = std::complex<double>;

/// Of float64, float32, bool, int32, int64 and complex128.
ReduceLoops sum_loops() {
  return {loop_of<Sum<double, double>>(),
          loop_of<Sum<float, float>>(),
          loop_of<Sum<bool, std::int64_t>>(),
          loop_of<Sum<std::int32_t, std::int64_t>>(),
          loop_of<Sum<std::int64_t, std::int64_t>>(),
          loop_of<Sum<Complex, Complex>>()};
}
/// Of float64, float32 and complex128.
ReduceLoops nan_sum_loops() {
  return {loop_of<Sum<double, double, Nans::skip>>(), loop_of<Sum<float, float, Nans::skip>>(),
          loop_of<Sum<Complex, Complex, Nans::skip>>()};
}
/// Of float64 and complex128.
ReduceLoops nan_mean_loops() { return {loop_of<NanMean<double>>(), loop_of<NanMean<Complex>>()}; }

#if HWY_ONCE
template <class T, class Out>
struct Mean : Sum<T, Out> {
  using State = Added<T>;
  static HWY_INLINE Out finish(State sum, Index items, double) {
    return narrowed<Out>(sum / static_cast<double>(items));
  }
};

/// One missing time makes the sum missing.
struct TimeSum {
  using Item = std::int64_t;
  using State = std::int64_t;
  using Result = std::int64_t;
  static HWY_INLINE State none() { return 0; }
  static HWY_INLINE State take(State sum, Item item, Index) {
    return sum == kNat || item == kNat ? kNat
                                       : static_cast<State>(static_cast<std::uint64_t>(sum) +
                                                            static_cast<std::uint64_t>(item));
  }
  static HWY_INLINE State run(const Item* in, std::size_t count, Index) {
    State sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum = take(sum, in[i], 0);
    return sum;
  }
  static HWY_INLINE State join(State sum, Index, State from, Index) { return take(sum, from, 0); }
  static HWY_INLINE Result finish(State sum, Index, double) { return sum; }
};

struct TimeMean : TimeSum {
  static HWY_INLINE Result finish(State sum, Index items, double) {
    return sum == kNat || items == 0 ? kNat : sum / items;
  }
};

/// Of integers: NaN is no matter to them.
ReduceLoops whole_sums(const ReduceLoops& sums) {
  using enum Type;
  const ReduceLoop& of_whole = sums[4];
  return together({{sums[2], sums[3], of_whole},
                   through(of_whole, {{i8, i64}, {i16, i64}}),
                   through(of_whole, {{u8, u64}, {u16, u64}, {u32, u64}, {u64, u64}}),
                   {loop_of<TimeSum>(timedelta, timedelta)},
                   // Where the caller says `dtype`.
                   through(of_whole, {{b1, b1}, {i8, i8}, {i16, i16}, {i32, i32}}),
                   through(of_whole, {{u8, u8}, {u16, u16}, {u32, u32}})});
}

ReduceLoops inexact_sums(const ReduceLoop& f64, const ReduceLoop& f32, const ReduceLoop& c128) {
  return together({{f64, f32, c128},
                   through(f32, {{Type::f16, Type::f16}}),
                   through(c128, {{Type::c64, Type::c64}})});
}

ReduceLoops whole_means(const ReduceLoop& mean) {
  using enum Type;
  return together({through(mean, {{b1, f64}, {i8, f64}, {i16, f64}, {i32, f64}, {i64, f64}}),
                   through(mean, {{u8, f64}, {u16, f64}, {u32, f64}, {u64, f64}}),
                   {loop_of<TimeMean>(timedelta, timedelta)}});
}

/// How many items are true: everything is a bool on its way in.
ReduceLoops counts(const ReduceLoop& sum) {
  ReduceLoops loops(kTypes, sum);
  for (std::size_t type = 0; type < kTypes; ++type) loops[type].input = static_cast<Type>(type);
  return loops;
}
#endif

}  // namespace muster::engine::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {

namespace reduction {
HWY_EXPORT(sum_loops);
HWY_EXPORT(nan_sum_loops);
HWY_EXPORT(nan_mean_loops);
}  // namespace reduction

void register_sum(Registry& registry) {
  using namespace reduction;                 // NOLINT: HWY_DYNAMIC_DISPATCH takes a plain name
  using namespace reduction::HWY_NAMESPACE;  // NOLINT: what was compiled once
  const ReduceLoops sums = HWY_DYNAMIC_DISPATCH(sum_loops)();
  const ReduceLoops nan_sums = HWY_DYNAMIC_DISPATCH(nan_sum_loops)();
  const ReduceLoops nan_means = HWY_DYNAMIC_DISPATCH(nan_mean_loops)();
  const ReduceLoops means = {finished_by<Mean<double, double>>(sums[0]),
                             finished_by<Mean<float, float>>(sums[1]),
                             finished_by<Mean<Complex, Complex>>(sums[5])};
  static const Reducer kSum{together({inexact_sums(sums[0], sums[1], sums[5]), whole_sums(sums)})};
  static const Reducer kNanSum{
      together({inexact_sums(nan_sums[0], nan_sums[1], nan_sums[2]), whole_sums(sums)})};
  static const Reducer kMean{
      together({inexact_sums(means[0], means[1], means[2]), whole_means(means[0])})};
  static const Reducer kNanMean{
      together({nan_means, through(nan_means[0], {{Type::f32, Type::f32}, {Type::f16, Type::f16}}),
                through(nan_means[1], {{Type::c64, Type::c64}}), whole_means(means[0])})};
  static const Reducer kCount{counts(sums[2])};
  static const OperatorRow kRows[] = {
      reduction_row("sum", "the sum of the items along axes", kSum),
      reduction_row("nansum", "the sum of the items that are numbers", kNanSum),
      reduction_row("mean", "the arithmetic mean along axes", kMean),
      reduction_row("nanmean", "the arithmetic mean of the items that are numbers", kNanMean),
      reduction_row("count_nonzero", "how many items are not zero", kCount),
  };
  for (const OperatorRow& row : kRows) registry.add(row);
}

Tensor sum(const Tensor& x, const Over& over) { return apply_one("sum", {x}, over.attributes()); }
Tensor mean(const Tensor& x, const Over& over) { return apply_one("mean", {x}, over.attributes()); }

}  // namespace muster::engine
#endif
