#include "muster/engine/ops/elementwise/comparison.h"

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/elementwise/comparison.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "muster/engine/ops/elementwise/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

struct Equal {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a != b;
  }
};
/// Complex numbers are ordered by their real parts, then by the imaginary ones.
struct Less {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    if constexpr (kIsComplex<T>)
      return (a.real() < b.real() && !is_nan(a.imag()) && !is_nan(b.imag())) ||
             (a.real() == b.real() && a.imag() < b.imag());
    else
      return a < b;
  }
};
struct LessEqual {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    if constexpr (kIsComplex<T>)
      return (a.real() < b.real() && !is_nan(a.imag()) && !is_nan(b.imag())) ||
             (a.real() == b.real() && a.imag() <= b.imag());
    else
      return a <= b;
  }
};
template <class Op>
struct Swapped {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return Op::of(b, a);
  }
};
using Greater = Swapped<Less>;
using GreaterEqual = Swapped<LessEqual>;

/// int64 beside uint64, which no other integer holds both of: a negative one is less than all.
template <class Op>
struct Mixed {
  static HWY_INLINE bool of(std::int64_t a, std::uint64_t b) {
    const bool fits = a >= 0;
    return Op::of(fits ? static_cast<std::uint64_t>(a) : 0, fits ? b : 1);
  }
  static HWY_INLINE bool of(std::uint64_t a, std::int64_t b) {
    const bool fits = b >= 0;
    return Op::of(fits ? a : 1, fits ? static_cast<std::uint64_t>(b) : 0);
  }
};

/// Nothing is equal to, less or greater than a time that is none.
template <class Op>
struct CompareTimes {
  static HWY_INLINE bool of(std::int64_t a, std::int64_t b) {
    const bool none = a == kNaT || b == kNaT;
    return none ? std::is_same_v<Op, NotEqual> : Op::of(a, b);
  }
};

template <class Op>
std::vector<LoopRow> comparison() {
  using I = std::int64_t;
  using U = std::uint64_t;
  constexpr bool kOrders = !std::is_same_v<Op, Equal> && !std::is_same_v<Op, NotEqual>;
  Rows rows = Rows().compare<Op>(kBool);
  if constexpr (kOrders)
    rows.compare<Op>(kIntegers);
  else
    rows.whole_compare<Op>();
  return rows.add(row<Mixed<Op>, bool, I, U>())
      .add(row<Mixed<Op>, bool, U, I>())
      .template compare<Op>(kFloats + kComplexes)
      .template timed<CompareTimes<Op>, bool, I, I>(Type::b1, {Type::datetime, Type::datetime})
      .template timed<CompareTimes<Op>, bool, I, I>(Type::b1, {Type::timedelta, Type::timedelta});
}

/// NaN wins.
struct Maximum {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (kIsComplex<T>)
      return GreaterEqual::of(a, b) || is_nan(a.real()) || is_nan(a.imag()) ? a : b;
    else if constexpr (kIsFloat<T>)
      return ((a >= b) | (a != a)) ? a : b;
    else
      return a > b ? a : b;
  }
};
struct Minimum {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (kIsComplex<T>)
      return LessEqual::of(a, b) || is_nan(a.real()) || is_nan(a.imag()) ? a : b;
    else if constexpr (kIsFloat<T>)
      return ((a <= b) | (a != a)) ? a : b;
    else
      return a < b ? a : b;
  }
};
/// NaN loses.
struct Fmax {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (kIsComplex<T>)
      return GreaterEqual::of(a, b) || is_nan(b.real()) || is_nan(b.imag()) ? a : b;
    else
      return ((a >= b) | (b != b)) ? a : b;
  }
};
struct Fmin {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (kIsComplex<T>)
      return LessEqual::of(a, b) || is_nan(b.real()) || is_nan(b.imag()) ? a : b;
    else
      return ((a <= b) | (b != b)) ? a : b;
  }
};
/// What is no time wins, or loses with fmax and fmin.
template <class Op, bool kNaTWins>
struct PickTime {
  static HWY_INLINE std::int64_t of(std::int64_t a, std::int64_t b) {
    if (a == kNaT) return kNaTWins ? a : b;
    if (b == kNaT) return kNaTWins ? b : a;
    return Op::of(a, b);
  }
};

/// Among whole numbers there is nothing that wins or loses.
template <class Whole, class Op, bool kNaTWins>
std::vector<LoopRow> extremum() {
  using I = std::int64_t;
  using Pick = PickTime<Whole, kNaTWins>;
  return Rows()
      .binary<Whole>(kBool + kIntegers)
      .template binary<Op>(kFloats + kComplexes)
      .template timed<Pick, I, I, I>(Type::timedelta, {Type::timedelta, Type::timedelta})
      .template timed<Pick, I, I, I>(Type::datetime, {Type::datetime, Type::datetime});
}

std::vector<UfuncRow> comparisons() {
  return {
      {"equal", "x1 == x2", {2, comparison<Equal>()}},
      {"not_equal", "x1 != x2", {2, comparison<NotEqual>()}},
      {"less", "x1 < x2", {2, comparison<Less>()}},
      {"less_equal", "x1 <= x2", {2, comparison<LessEqual>()}},
      {"greater", "x1 > x2", {2, comparison<Greater>()}},
      {"greater_equal", "x1 >= x2", {2, comparison<GreaterEqual>()}},
      {"maximum", "the larger one; NaN if either is", {2, extremum<Maximum, Maximum, true>()}},
      {"minimum", "the smaller one; NaN if either is", {2, extremum<Minimum, Minimum, true>()}},
      {"fmax", "the larger one; NaN only if both are", {2, extremum<Maximum, Fmax, false>()}},
      {"fmin", "the smaller one; NaN only if both are", {2, extremum<Minimum, Fmin, false>()}},
  };
}

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {
namespace {
HWY_EXPORT(comparisons);
}

void register_comparison(Registry& registry) {
  static const UfuncTable kTable(HWY_DYNAMIC_DISPATCH(comparisons)());
  kTable.add_to(registry);
}

}  // namespace muster::engine
#endif
