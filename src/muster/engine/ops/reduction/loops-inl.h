// Builds reduce loops of small structs that say what is done with one item. Included by the files
// that Highway compiles once per target, so there is no usual include guard.
#if defined(MUSTER_ENGINE_REDUCTION_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MUSTER_ENGINE_REDUCTION_LOOPS_INL_H
#undef MUSTER_ENGINE_REDUCTION_LOOPS_INL_H
#else
#define MUSTER_ENGINE_REDUCTION_LOOPS_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <hwy/highway.h>

#include "muster/engine/kernels/reducer.h"

// Sources that include this are compiled with -fopenmp-simd; a look at it alone is not.
#pragma GCC diagnostic ignored "-Wunknown-pragmas"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::reduction::HWY_NAMESPACE {

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

/// An item as something to calculate with.
template <class To, class From>
HWY_INLINE To widened(From value) {
  if constexpr (std::is_same_v<From, Float16>)
    return static_cast<To>(to_float(value));
  else if constexpr (kIsComplex<To> && !std::is_same_v<To, From>)
    return To(value.real(), value.imag());
  else
    return static_cast<To>(value);
}

/// A result as an item.
template <class To, class From>
HWY_INLINE To narrowed(From value) {
  if constexpr (std::is_same_v<To, Float16>)
    return to_float16(static_cast<float>(value));
  else if constexpr (kIsComplex<To> && !std::is_same_v<To, From>)
    return To(static_cast<typename To::value_type>(value.real()),
              static_cast<typename To::value_type>(value.imag()));
  else if constexpr (std::is_same_v<To, bool>)
    return value != From{};
  else
    return static_cast<To>(value);
}

template <class T>
HWY_INLINE bool is_nan(T value) {
  if constexpr (std::is_same_v<T, Float16>)
    return (value.bits & 0x7fff) > 0x7c00;
  else if constexpr (kIsComplex<T>)
    return is_nan(value.real()) || is_nan(value.imag());
  else if constexpr (std::is_floating_point_v<T>)
    return value != value;
  else
    return false;
}

/// What is done with items that are no numbers.
enum class Nans : bool { count, skip };

/// A missing time.
inline constexpr std::int64_t kNat = std::numeric_limits<std::int64_t>::min();

/// The sum of `value(i)` for i below `count`. Four streams side by side: vectors do not wait for
/// each other, and errors grow slowly.
template <class Sum, class F>
HWY_INLINE Sum sum_of(std::size_t count, F value) {
  const std::size_t quarter = count / 4;
  Sum a{};
  Sum b{};
  Sum c{};
  Sum d{};
#pragma omp simd reduction(+ : a, b, c, d)
  for (std::size_t i = 0; i < quarter; ++i) {
    a += value(i);
    b += value(i + quarter);
    c += value(i + 2 * quarter);
    d += value(i + 3 * quarter);
  }
  for (std::size_t i = 4 * quarter; i < count; ++i) a += value(i);
  return (a + b) + (c + d);
}

/// The sums of four runs, `value(run, i)`, which are read at the same time: memory answers four
/// questions sooner than one. Added up in short pieces, so that errors grow slowly.
template <class Sum, class F>
HWY_INLINE void four_sums(std::size_t count, Sum* sums, F value) {
  constexpr std::size_t kPiece = 256;
  for (std::size_t begin = 0; begin < count; begin += kPiece) {
    const std::size_t end = std::min(begin + kPiece, count);
    Sum a{};
    Sum b{};
    Sum c{};
    Sum d{};
#pragma omp simd reduction(+ : a, b, c, d)
    for (std::size_t i = begin; i < end; ++i) {
      a += value(0, i);
      b += value(1, i);
      c += value(2, i);
      d += value(3, i);
    }
    sums[0] += a;
    sums[1] += b;
    sums[2] += c;
    sums[3] += d;
  }
}

/// Runs this short are not worth a loop of vectors each.
inline constexpr Index kShortRun = 24;

/// `Op` has the types Item, State and Result and the functions none() -> State,
/// take(State, Item, Index place) -> State, run(const Item*, count, Index place) -> State,
/// join(State, Index items, State from, Index from_items) -> State and
/// finish(State, Index items, double ddof) -> Result. It may have
/// run_four(const Item* const*, count, State*): four runs of as many items, added to four states.
template <class Op>
struct LoopOf {
  using Item = typename Op::Item;
  using State = typename Op::State;
  using Result = typename Op::Result;

  static void start(std::byte* accumulators, std::size_t count) {
    std::fill_n(reinterpret_cast<State*>(accumulators), count, Op::none());
  }

  template <Index Rows>
  static HWY_INLINE void fold_short(const Item* in, Index groups, Index rows, State* out,
                                    Index before) {
    const Index length = Rows > 0 ? Rows : rows;
    for (Index group = 0; group < groups; ++group) {
      State state = out[group];
      for (Index row = 0; row < length; ++row)
        state = Op::take(state, in[group * length + row], before + row);
      out[group] = state;
    }
  }

  static const Item* after(const Item* in, Index bytes) {
    return reinterpret_cast<const Item*>(reinterpret_cast<const std::byte*>(in) + bytes);
  }

  static void fold_runs(const Item* in, Runs runs, State* out, Index before) {
    const Index rows = runs.rows;
    if (runs.step == 0 && rows < kShortRun) return fold_short_runs(in, runs, out, before);
    const Index step = runs.step == 0 ? rows * static_cast<Index>(sizeof(Item)) : runs.step;
    const auto count = static_cast<std::size_t>(rows);
    Index group = 0;
    if constexpr (requires(const Item* const* four) { Op::run_four(four, count, out); })
      for (; group + 4 <= runs.groups; group += 4, in = after(in, 4 * step)) {
        const Item* const four[] = {in, after(in, step), after(in, 2 * step), after(in, 3 * step)};
        Op::run_four(four, count, out + group);
      }
    for (; group < runs.groups; ++group, in = after(in, step))
      out[group] = Op::join(out[group], before, Op::run(in, count, before), rows);
  }

  static void fold_short_runs(const Item* in, Runs runs, State* out, Index before) {
    switch (runs.rows) {
      case 1: return fold_short<1>(in, runs.groups, 1, out, before);
      case 2: return fold_short<2>(in, runs.groups, 2, out, before);
      case 3: return fold_short<3>(in, runs.groups, 3, out, before);
      case 4: return fold_short<4>(in, runs.groups, 4, out, before);
      default: return fold_short<0>(in, runs.groups, runs.rows, out, before);
    }
  }

  /// Four rows at a time: they are read at the same time, and accumulators only once for them.
  static void fold_rows(const Item* in, Index rows, Index width, Index step, State* out,
                        Index before) {
    Index row = 0;
    // Of larger accumulators the compiler makes no vectors here.
    const Index fours = std::is_arithmetic_v<State> ? rows / 4 * 4 : 0;
    for (; row < fours; row += 4, in = after(in, 4 * step)) {
      const Item* const second = after(in, step);
      const Item* const third = after(in, 2 * step);
      const Item* const fourth = after(in, 3 * step);
      const Index place = before + row;
#pragma omp simd
      for (Index i = 0; i < width; ++i) {
        State state = Op::take(out[i], in[i], place);
        state = Op::take(state, second[i], place + 1);
        state = Op::take(state, third[i], place + 2);
        out[i] = Op::take(state, fourth[i], place + 3);
      }
    }
    for (; row < rows; ++row, in = after(in, step)) {
#pragma omp simd
      for (Index i = 0; i < width; ++i) out[i] = Op::take(out[i], in[i], before + row);
    }
  }

  static void fold(const std::byte* items, Runs runs, std::byte* accumulators, Index before) {
    const auto* in = reinterpret_cast<const Item*>(items);
    auto* out = reinterpret_cast<State*>(accumulators);
    if (runs.width == 1) return fold_runs(in, runs, out, before);
    const Index step = runs.step == 0 ? runs.width * static_cast<Index>(sizeof(Item)) : runs.step;
    for (Index group = 0; group < runs.groups; ++group) {
      fold_rows(in, runs.rows, runs.width, step, out, before);
      in = after(in, runs.rows * step);
      out += runs.width;
    }
  }

  static void join(const std::byte* from, Index from_items, std::byte* accumulators, Index items,
                   std::size_t count) {
    const auto* const in = reinterpret_cast<const State*>(from);
    auto* const out = reinterpret_cast<State*>(accumulators);
    for (std::size_t i = 0; i < count; ++i) out[i] = Op::join(out[i], items, in[i], from_items);
  }

  static void finish(const std::byte* accumulators, Index items, double ddof, std::byte* out,
                     std::size_t count) {
    const auto* const in = reinterpret_cast<const State*>(accumulators);
    auto* const results = reinterpret_cast<Result*>(out);
    for (std::size_t i = 0; i < count; ++i) results[i] = Op::finish(in[i], items, ddof);
  }
};

/// The loop of an `Op`; `input` and `output` where the types of C++ do not say all (times).
template <class Op>
ReduceLoop loop_of(Type input, Type output) {
  using Loop = LoopOf<Op>;
  return {input,       output,     input,      output,      sizeof(typename Op::State),
          Loop::start, Loop::fold, Loop::join, Loop::finish};
}
template <class Op>
ReduceLoop loop_of() {
  return loop_of<Op>(kTypeOf<typename Op::Item>, kTypeOf<typename Op::Result>);
}

/// A loop whose accumulators `Op` makes other results of.
template <class Op>
ReduceLoop finished_by(ReduceLoop loop) {
  loop.output = loop.results = kTypeOf<typename Op::Result>;
  loop.finish = LoopOf<Op>::finish;
  return loop;
}

}  // namespace muster::engine::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
