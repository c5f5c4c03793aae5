#include "muster/engine/ops/reduction/variance.h"

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/reduction/variance.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "muster/engine/ops/reduction/loops-inl.h"
#include "muster/engine/ops/reduction/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::reduction::HWY_NAMESPACE {

/// Mean and sum of squared distances from it. Blocks are gone over twice while they are near; parts
/// are joined by Chan's formula. What the mean loses by rounding is kept beside it, so that the
/// distance of two means that are large and close is right.
template <class Mean>
struct Moments {
  Mean mean;
  Mean rest;
  double squares;
};

/// The mean moved by `step`; what rounding takes off goes to the rest.
template <class Mean>
HWY_INLINE Moments<Mean> moved(Moments<Mean> state, Mean step, double squares) {
  step += state.rest;
  const Mean mean = state.mean + step;
  return {mean, step - (mean - state.mean), squares};
}

template <class Mean>
HWY_INLINE double squared(Mean distance) {
  if constexpr (kIsComplex<Mean>)
    return distance.real() * distance.real() + distance.imag() * distance.imag();
  else
    return distance * distance;
}

template <class Mean>
HWY_INLINE Moments<Mean> joined(Moments<Mean> a, double a_items, Moments<Mean> b, double b_items) {
  const double items = a_items + b_items;
  if (b_items == 0) return a;
  if (a_items == 0) return b;
  const Mean distance = (b.mean - a.mean) + (b.rest - a.rest);
  return moved<Mean>(a, distance * (b_items / items),
                     a.squares + b.squares + squared(distance) * (a_items * b_items / items));
}

template <class T>
using MeanOf = std::conditional_t<kIsComplex<T>, std::complex<double>, double>;

/// The sum of what `value` makes of each item.
template <class T, class F>
HWY_INLINE MeanOf<T> sum_of_items(const T* in, std::size_t count, F value) {
  if constexpr (kIsComplex<T>)
    return {sum_of<double>(count, [&](std::size_t i) { return value(in[i]).real(); }),
            sum_of<double>(count, [&](std::size_t i) { return value(in[i]).imag(); })};
  else
    return sum_of<double>(count, [&](std::size_t i) { return value(in[i]); });
}

template <class T>
HWY_INLINE Moments<MeanOf<T>> moments_of(const T* in, std::size_t count) {
  using Mean = MeanOf<T>;
  const auto items = static_cast<double>(count);
  const Mean mean = sum_of_items(in, count, [](T item) { return widened<Mean>(item); }) / items;
  const Mean rest =
      sum_of_items(in, count, [&](T item) { return widened<Mean>(item) - mean; }) / items;
  const double squares =
      sum_of<double>(count, [&](std::size_t i) { return squared(widened<Mean>(in[i]) - mean); });
  const double about_mean = squares - squared(rest) * items;
  return {mean, rest, about_mean < 0 ? 0.0 : about_mean};  // NaN stays
}

/// Squares over a count. Infinite items have no mean to be distant from.
template <class Mean>
HWY_INLINE double variance_of(const Moments<Mean>& state, double left) {
  if constexpr (kIsComplex<Mean>) {
    if (!std::isfinite(state.mean.real()) || !std::isfinite(state.mean.imag()))
      return std::numeric_limits<double>::quiet_NaN();
  } else {
    if (!std::isfinite(state.mean)) return std::numeric_limits<double>::quiet_NaN();
  }
  return state.squares / left;
}

template <class T, bool root = false>
struct Variance {
  using Item = T;
  using Mean = MeanOf<T>;
  using State = Moments<Mean>;
  using Result = double;
  static HWY_INLINE State none() { return {}; }
  static HWY_INLINE State take(State state, Item item, Index before) {
    const Mean distance = (widened<Mean>(item) - state.mean) - state.rest;
    const double share = 1.0 / static_cast<double>(before + 1);
    // Welford's step: the distances before and after the mean has moved.
    return moved<Mean>(state, distance * share,
                       state.squares + squared(distance) * (static_cast<double>(before) * share));
  }
  static HWY_INLINE State run(const Item* in, std::size_t count, Index) {
    return moments_of(in, count);
  }
  static HWY_INLINE State join(State a, Index a_items, State b, Index b_items) {
    return joined(a, static_cast<double>(a_items), b, static_cast<double>(b_items));
  }
  static HWY_INLINE Result finish(State state, Index items, double ddof) {
    const double left = static_cast<double>(items) - ddof;
    const double variance = variance_of(state, left > 0 ? left : 0.0);
    // No items: the mean is none, and so is this.
    const double result = items == 0 ? std::numeric_limits<double>::quiet_NaN() : variance;
    return root ? std::sqrt(result) : result;
  }
};

/// Of the items that are numbers, so each accumulator counts its own.
template <class T, bool root = false>
struct NanVariance {
  using Item = T;
  using Mean = MeanOf<T>;
  struct State {
    Moments<Mean> moments;
    double items;
  };
  using Result = double;
  static HWY_INLINE State none() { return {}; }
  static HWY_INLINE State take(State state, Item item, Index) {
    if (is_nan(item)) return state;
    return {joined<Mean>(state.moments, state.items, {widened<Mean>(item), Mean{}, 0}, 1),
            state.items + 1};
  }
  static HWY_INLINE State run(const Item* in, std::size_t count, Index) {
    const std::uint32_t numbers =
        sum_of<std::uint32_t>(count, [&](std::size_t i) { return is_nan(in[i]) ? 0U : 1U; });
    if (numbers == count) return {moments_of(in, count), static_cast<double>(count)};
    State state{};
    for (std::size_t i = 0; i < count; ++i) state = take(state, in[i], 0);
    return state;
  }
  static HWY_INLINE State join(State a, Index, State b, Index) {
    return {joined(a.moments, a.items, b.moments, b.items), a.items + b.items};
  }
  static HWY_INLINE Result finish(State state, Index, double ddof) {
    // Too few numbers are no answer, where the plain variance divides by zero.
    const double left = state.items - ddof;
    const double result =
        left > 0 ? variance_of(state.moments, left) : std::numeric_limits<double>::quiet_NaN();
    return root ? std::sqrt(result) : result;
  }
};

using Complex = std::complex<double>;

/// Of float64 and complex128, then of the numbers among them.
ReduceLoops moments() {
  return {loop_of<Variance<double>>(), loop_of<Variance<Complex>>(), loop_of<NanVariance<double>>(),
          loop_of<NanVariance<Complex>>()};
}

#if HWY_ONCE
/// The same accumulators give the standard deviation.
ReduceLoops roots(const ReduceLoops& loops) {
  return {finished_by<Variance<double, true>>(loops[0]),
          finished_by<Variance<Complex, true>>(loops[1]),
          finished_by<NanVariance<double, true>>(loops[2]),
          finished_by<NanVariance<Complex, true>>(loops[3])};
}

ReduceLoops inexact_moments(const ReduceLoop& real, const ReduceLoop& complex) {
  using enum Type;
  return together({through(real, {{f64, f64}, {f32, f32}, {f16, f16}}),
                   through(complex, {{c128, f64}, {c64, f32}})});
}

ReduceLoops whole_moments(const ReduceLoop& real) {
  using enum Type;
  return together({through(real, {{b1, f64}, {i8, f64}, {i16, f64}, {i32, f64}, {i64, f64}}),
                   through(real, {{u8, f64}, {u16, f64}, {u32, f64}, {u64, f64}})});
}
#endif

}  // namespace muster::engine::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {

namespace reduction {
HWY_EXPORT(moments);
}  // namespace reduction

void register_variance(Registry& registry) {
  using namespace reduction;                 // NOLINT: HWY_DYNAMIC_DISPATCH takes a plain name
  using namespace reduction::HWY_NAMESPACE;  // NOLINT: what was compiled once
  const ReduceLoops variances = HWY_DYNAMIC_DISPATCH(moments)();
  const ReduceLoops deviations = roots(variances);
  static const Reducer kVar{
      together({inexact_moments(variances[0], variances[1]), whole_moments(variances[0])})};
  static const Reducer kStd{
      together({inexact_moments(deviations[0], deviations[1]), whole_moments(deviations[0])})};
  static const Reducer kNanVar{
      together({inexact_moments(variances[2], variances[3]), whole_moments(variances[0])})};
  static const Reducer kNanStd{
      together({inexact_moments(deviations[2], deviations[3]), whole_moments(deviations[0])})};
  static const OperatorRow kRows[] = {
      reduction_row("var", "the variance along axes", kVar),
      reduction_row("std", "the standard deviation along axes", kStd),
      reduction_row("nanvar", "the variance of the items that are numbers", kNanVar),
      reduction_row("nanstd", "the standard deviation of the items that are numbers", kNanStd),
  };
  for (const OperatorRow& row : kRows) registry.add(row);
}

Tensor var(const Tensor& x, const Over& over, double ddof) {
  return apply_one("var", {x}, over.attributes().with("ddof", ddof));
}
Tensor std_(const Tensor& x, const Over& over, double ddof) {
  return apply_one("std", {x}, over.attributes().with("ddof", ddof));
}

}  // namespace muster::engine
#endif
