#include "muster/engine/ops/reduction/extremes.h"

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/reduction/extremes.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "muster/engine/ops/reduction/loops-inl.h"
#include "muster/engine/ops/reduction/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::reduction::HWY_NAMESPACE {

struct Less {
  template <class T>
  static constexpr T worst() {
    if constexpr (std::is_floating_point_v<T>)
      return std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::max();
  }
  template <class T>
  static HWY_INLINE bool better(T a, T b) {
    if constexpr (kIsComplex<T>)
      return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
    else
      return a < b;
  }
};
struct Greater {
  template <class T>
  static constexpr T worst() {
    if constexpr (std::is_floating_point_v<T>)
      return -std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::lowest();
  }
  template <class T>
  static HWY_INLINE bool better(T a, T b) {
    return Less::better(b, a);
  }
};

/// The best of a run of numbers, none of which is NaN or counts if it is.
template <class Order, class T, class F>
HWY_INLINE T best_of(std::size_t count, F value) {
  T best = Order::template worst<T>();
  if constexpr (std::is_same_v<Order, Less>) {
#pragma omp simd reduction(min : best)
    for (std::size_t i = 0; i < count; ++i) best = value(i) < best ? value(i) : best;
  } else {
#pragma omp simd reduction(max : best)
    for (std::size_t i = 0; i < count; ++i) best = value(i) > best ? value(i) : best;
  }
  return best;
}

/// The best of four runs, `value(run, i)`, which are read at the same time (see `four_sums`).
template <class Order, class T, class F>
HWY_INLINE void best_of_four(std::size_t count, T* best, F value) {
  T a = Order::template worst<T>();
  T b = a;
  T c = a;
  T d = a;
  if constexpr (std::is_same_v<Order, Less>) {
#pragma omp simd reduction(min : a, b, c, d)
    for (std::size_t i = 0; i < count; ++i) {
      a = value(0, i) < a ? value(0, i) : a;
      b = value(1, i) < b ? value(1, i) : b;
      c = value(2, i) < c ? value(2, i) : c;
      d = value(3, i) < d ? value(3, i) : d;
    }
  } else {
#pragma omp simd reduction(max : a, b, c, d)
    for (std::size_t i = 0; i < count; ++i) {
      a = value(0, i) > a ? value(0, i) : a;
      b = value(1, i) > b ? value(1, i) : b;
      c = value(2, i) > c ? value(2, i) : c;
      d = value(3, i) > d ? value(3, i) : d;
    }
  }
  best[0] = a;
  best[1] = b;
  best[2] = c;
  best[3] = d;
}

/// The least or greatest item; NaN if there is one.
template <class Order, class T>
struct Extreme {
  using Item = T;
  using State = T;
  using Result = T;
  static HWY_INLINE State none() {
    if constexpr (kIsComplex<T>)
      return {Order::template worst<typename T::value_type>(),
              Order::template worst<typename T::value_type>()};
    else
      return Order::template worst<State>();
  }
  static HWY_INLINE State take(State best, Item item, Index) {
    return choose(best, widened<State>(item));
  }
  static HWY_INLINE State choose(State best, State value) {
    // Only one of them is copied: the first NaN stays.
    return !is_nan(best) && (is_nan(value) || Order::better(value, best)) ? value : best;
  }
  static HWY_INLINE State run(const Item* in, std::size_t count, Index) {
    if constexpr (kIsComplex<T>) {
      State best = none();
      for (std::size_t i = 0; i < count; ++i) best = take(best, in[i], 0);
      return best;
    } else if constexpr (std::is_floating_point_v<T>) {
      // Comparisons are false for NaN, so it is looked for apart.
      const T best = best_of<Order, State>(count, [&](std::size_t i) { return in[i]; });
      const T sum = sum_of<T>(count, [&](std::size_t i) { return in[i] == in[i] ? T{0} : in[i]; });
      return sum == sum ? best : sum;
    } else {
      return best_of<Order, State>(count, [&](std::size_t i) { return widened<State>(in[i]); });
    }
  }
  /// In short pieces: what was looked through for the best is still near when NaN is looked for.
  static HWY_INLINE void run_four(const Item* const* in, std::size_t count, State* states)
    requires(!kIsComplex<T>)
  {
    constexpr std::size_t kPiece = 256;
    for (std::size_t begin = 0; begin < count; begin += kPiece) {
      const std::size_t size = std::min(kPiece, count - begin);
      const auto value = [&](int run, std::size_t i) { return in[run][begin + i]; };
      State best[4];
      best_of_four<Order, State>(size, best, value);
      if constexpr (std::is_floating_point_v<T>) {
        State nans[4] = {};
        four_sums<State>(size, nans, [&](int run, std::size_t i) {
          return value(run, i) == value(run, i) ? T{0} : value(run, i);
        });
        for (int run = 0; run < 4; ++run)
          if (is_nan(nans[run])) best[run] = nans[run];
      }
      for (int run = 0; run < 4; ++run) states[run] = choose(states[run], best[run]);
    }
  }
  static HWY_INLINE State join(State a, Index, State b, Index) { return choose(a, b); }
  static HWY_INLINE Result finish(State best, Index, double) { return narrowed<Result>(best); }
};

/// The least or greatest of the numbers; NaN if there is none.
template <class Order, class T>
struct NanExtreme {
  using Item = T;
  using State = T;
  using Result = T;
  static HWY_INLINE State none() {
    if constexpr (kIsComplex<T>)
      return {std::numeric_limits<typename T::value_type>::quiet_NaN(), 0};
    else
      return std::numeric_limits<State>::quiet_NaN();
  }
  static HWY_INLINE State choose(State best, State value) {
    return is_nan(best) || (!is_nan(value) && Order::better(value, best)) ? value : best;
  }
  static HWY_INLINE State take(State best, Item item, Index) {
    return choose(best, widened<State>(item));
  }
  static HWY_INLINE State run(const Item* in, std::size_t count, Index) {
    if constexpr (kIsComplex<T>) {
      State best = none();
      for (std::size_t i = 0; i < count; ++i) best = take(best, in[i], 0);
      return best;
    } else {
      const std::uint32_t numbers =
          sum_of<std::uint32_t>(count, [&](std::size_t i) { return in[i] == in[i] ? 1U : 0U; });
      return numbers == 0 ? none()
                          : best_of<Order, State>(count, [&](std::size_t i) { return in[i]; });
    }
  }
  static HWY_INLINE State join(State a, Index, State b, Index) { return choose(a, b); }
  static HWY_INLINE Result finish(State best, Index, double) { return narrowed<Result>(best); }
};

/// A missing time is the answer if there is one. It is the least number anyway.
template <class Order>
struct TimeExtreme : Extreme<Order, std::int64_t> {
  using State = std::int64_t;
  static HWY_INLINE State none() {
    return std::is_same_v<Order, Less> ? std::numeric_limits<State>::max() : kNat + 1;
  }
  static HWY_INLINE State choose(State best, State value) {
    if (best == kNat || value == kNat) return kNat;
    return Order::better(value, best) ? value : best;
  }
  static HWY_INLINE State take(State best, State item, Index) { return choose(best, item); }
  static HWY_INLINE State run(const State* in, std::size_t count, Index) {
    State best = none();
    for (std::size_t i = 0; i < count; ++i) best = choose(best, in[i]);
    return best;
  }
  /// That of numbers knows no missing times.
  static void run_four(const State* const*, std::size_t, State*) = delete;
  static HWY_INLINE State join(State a, Index, State b, Index) { return choose(a, b); }
};

/// Missing times do not count, unless there is nothing else.
template <class Order>
struct NanTimeExtreme : TimeExtreme<Order> {
  using State = std::int64_t;
  static HWY_INLINE State none() { return kNat; }
  static HWY_INLINE State choose(State best, State value) {
    return best == kNat || (value != kNat && Order::better(value, best)) ? value : best;
  }
  static HWY_INLINE State take(State best, State item, Index) { return choose(best, item); }
  static HWY_INLINE State run(const State* in, std::size_t count, Index) {
    State best = none();
    for (std::size_t i = 0; i < count; ++i) best = choose(best, in[i]);
    return best;
  }
  static HWY_INLINE State join(State a, Index, State b, Index) { return choose(a, b); }
};

/// Of float64, float32, int32, int64, and of the numbers among float64.
template <class Order>
ReduceLoops extremes() {
  return {loop_of<Extreme<Order, double>>(), loop_of<Extreme<Order, float>>(),
          loop_of<Extreme<Order, std::int32_t>>(), loop_of<Extreme<Order, std::int64_t>>(),
          loop_of<NanExtreme<Order, double>>()};
}
ReduceLoops minima() { return extremes<Less>(); }
ReduceLoops maxima() { return extremes<Greater>(); }

#if HWY_ONCE
// What is seldom met is compiled once, for all processors.
using Complex = std::complex<double>;

template <class Order>
ReduceLoops whole_extremes(const ReduceLoops& loops) {
  using enum Type;
  return together({{loops[2], loops[3], loop_of<Extreme<Order, std::uint64_t>>()},
                   through(loops[2], {{b1, b1}, {i8, i8}, {i16, i16}, {u8, u8}, {u16, u16}}),
                   through(loops[3], {{u32, u32}})});
}

template <class Order>
ReduceLoops of_all(const ReduceLoops& loops) {
  using enum Type;
  const ReduceLoop complex = loop_of<Extreme<Order, Complex>>();
  return together({{loops[0], loops[1], complex},
                   through(loops[1], {{f16, f16}}),
                   through(complex, {{c64, c64}}),
                   {loop_of<TimeExtreme<Order>>(datetime, datetime),
                    loop_of<TimeExtreme<Order>>(timedelta, timedelta)},
                   whole_extremes<Order>(loops)});
}

template <class Order>
ReduceLoops of_numbers(const ReduceLoops& loops) {
  using enum Type;
  const ReduceLoop complex = loop_of<NanExtreme<Order, Complex>>();
  return together({through(loops[4], {{f64, f64}, {f32, f32}, {f16, f16}}),
                   through(complex, {{c128, c128}, {c64, c64}}),
                   {loop_of<NanTimeExtreme<Order>>(datetime, datetime),
                    loop_of<NanTimeExtreme<Order>>(timedelta, timedelta)},
                   whole_extremes<Order>(loops)});
}
#endif

}  // namespace muster::engine::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {

namespace reduction {
HWY_EXPORT(minima);
HWY_EXPORT(maxima);
}  // namespace reduction

void register_extremes(Registry& registry) {
  using namespace reduction;                 // NOLINT: HWY_DYNAMIC_DISPATCH takes a plain name
  using namespace reduction::HWY_NAMESPACE;  // NOLINT: what was compiled once
  const ReduceLoops least = HWY_DYNAMIC_DISPATCH(minima)();
  const ReduceLoops greatest = HWY_DYNAMIC_DISPATCH(maxima)();
  static const Reducer kMin{of_all<Less>(least), true};
  static const Reducer kMax{of_all<Greater>(greatest), true};
  static const Reducer kNanMin{of_numbers<Less>(least), true};
  static const Reducer kNanMax{of_numbers<Greater>(greatest), true};
  static const OperatorRow kRows[] = {
      reduction_row("min", "the least item along axes", kMin),
      reduction_row("max", "the greatest item along axes", kMax),
      reduction_row("nanmin", "the least item that is a number", kNanMin),
      reduction_row("nanmax", "the greatest item that is a number", kNanMax),
  };
  for (const OperatorRow& row : kRows) registry.add(row);
}

Tensor min(const Tensor& x, const Over& over) { return apply_one("min", {x}, over.attributes()); }
Tensor max(const Tensor& x, const Over& over) { return apply_one("max", {x}, over.attributes()); }

}  // namespace muster::engine
#endif
