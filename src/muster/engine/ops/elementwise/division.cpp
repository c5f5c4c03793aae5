#include "muster/engine/ops/elementwise/division.h"

#include <cmath>
#include <limits>

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/elementwise/division.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "muster/engine/ops/elementwise/time_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

/// Whole numbers divided by zero are zero; the least one divided by -1 is itself.
template <class T>
HWY_INLINE bool divides_badly(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return b == 0 || (b == -1 && a == std::numeric_limits<T>::min());
  else
    return b == 0;
}

/// The quotient rounded down and what is left, as Python defines them.
template <class T>
T divide_floor(T a, T b, T& left) {
  left = std::fmod(a, b);
  if (b == 0) return a / b;
  T quotient = (a - left) / b;
  if (left != 0) {
    if ((b < 0) != (left < 0)) {
      left += b;
      quotient -= 1;
    }
  } else {
    left = std::copysign(T(0), b);
  }
  if (quotient == 0) return std::copysign(T(0), a / b);
  const T down = std::floor(quotient);
  return quotient - down > T(0.5) ? down + 1 : down;
}

struct FloorDivide {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (kIsFloat<T>) {
      T left;
      return divide_floor(a, b, left);
    } else {
      if (divides_badly(a, b)) return b == 0 ? T(0) : a;
      const auto whole = static_cast<T>(a / b);
      if constexpr (std::is_signed_v<T>)
        return static_cast<T>(whole - ((a < 0) != (b < 0) && whole * b != a ? 1 : 0));
      else
        return whole;
    }
  }
};

struct Remainder {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (kIsFloat<T>) {
      T left;
      (void)divide_floor(a, b, left);
      return left;
    } else {
      if (divides_badly(a, b)) return T(0);
      const auto left = static_cast<T>(a % b);
      if constexpr (std::is_signed_v<T>)
        return left != 0 && (left < 0) != (b < 0) ? static_cast<T>(left + b) : left;
      else
        return left;
    }
  }
};

/// A timedelta divided by nothing leaves none.
struct TimeRemainder {
  static HWY_INLINE std::int64_t of(std::int64_t a, std::int64_t b) {
    return b == 0 ? kNaT : Remainder::of(a, b);
  }
};

struct Fmod {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (kIsFloat<T>)
      return std::fmod(a, b);
    else
      return divides_badly(a, b) ? T(0) : static_cast<T>(a % b);
  }
};

std::vector<UfuncRow> division() {
  using I = std::int64_t;
  constexpr auto kReals = kIntegers + kFloats;
  return {
      {"floor_divide",
       "x1 / x2, rounded down",
       {2, Rows()
               .binary<FloorDivide>(kReals)
               .append(time_quotients())
               .timed<OfTimes<FloorDivide, 0>, I, I, I>(Type::i64,
                                                        {Type::timedelta, Type::timedelta})}},
      {"remainder",
       "what floor_divide leaves, with the sign of x2",
       {2, Rows().binary<Remainder>(kReals).timed<OfTimes<TimeRemainder>, I, I, I>(
               Type::timedelta, {Type::timedelta, Type::timedelta})}},
      {"fmod", "what division leaves, with the sign of x1", {2, Rows().binary<Fmod>(kReals)}},
  };
}

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {
namespace {
HWY_EXPORT(division);
}

void register_division(Registry& registry) {
  static const UfuncTable kTable(HWY_DYNAMIC_DISPATCH(division)());
  kTable.add_to(registry);
}

}  // namespace muster::engine
#endif
