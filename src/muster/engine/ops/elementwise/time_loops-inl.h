// Loops over times, which are counts of a unit where the least integer stands for no time. Read
// once per target, like loops.h.
#if defined(MUSTER_ENGINE_TIME_LOOPS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MUSTER_ENGINE_TIME_LOOPS_H
#undef MUSTER_ENGINE_TIME_LOOPS_H
#else
#define MUSTER_ENGINE_TIME_LOOPS_H
#endif

#include "muster/engine/kernels/time_units.h"
#include "muster/engine/ops/elementwise/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

/// A function of integers on two times; `kNone` if one of them is none.
template <class Op, std::int64_t kNone = kNaT>
struct OfTimes {
  static HWY_INLINE std::int64_t of(std::int64_t a, std::int64_t b) {
    const bool none = a == kNaT || b == kNaT;
    const std::int64_t result = Op::of(none ? 0 : a, none ? 1 : b);
    return none ? kNone : result;
  }
};

/// A function of an integer on one time.
template <class Op>
struct OfTime {
  static HWY_INLINE std::int64_t of(std::int64_t a) { return a == kNaT ? kNaT : Op::of(a); }
};

/// The part before the point; none where there is none.
HWY_INLINE std::int64_t whole_time(double value) {
  constexpr double kLimit = 9223372036854775808.0;
  return value > -kLimit && value < kLimit ? static_cast<std::int64_t>(value) : kNaT;
}

struct TimeProduct {
  static HWY_INLINE std::int64_t of(std::int64_t time, double number) {
    return time == kNaT ? kNaT : whole_time(static_cast<double>(time) * number);
  }
  static HWY_INLINE std::int64_t of(double number, std::int64_t time) { return of(time, number); }
};

struct TimeQuotient {
  static HWY_INLINE std::int64_t of(std::int64_t time, std::int64_t number) {
    if (time == kNaT || number == 0) return kNaT;
    return number == -1 ? -time : time / number;
  }
  static HWY_INLINE std::int64_t of(std::int64_t time, double number) {
    return time == kNaT ? kNaT : whole_time(static_cast<double>(time) / number);
  }
};

struct TimeRatio {
  static HWY_INLINE double of(std::int64_t a, std::int64_t b) {
    const bool none = a == kNaT || b == kNaT;
    const double ratio = static_cast<double>(a) / static_cast<double>(b);
    return none ? std::numeric_limits<double>::quiet_NaN() : ratio;
  }
};

/// A difference by a number: `divide` and `floor_divide` alike.
inline Rows time_quotients() {
  using I = std::int64_t;
  return Rows()
      .timed<TimeQuotient, I, I, I>(Type::timedelta, {Type::timedelta, Type::i64})
      .timed<TimeQuotient, I, I, double>(Type::timedelta, {Type::timedelta, Type::f64});
}

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
