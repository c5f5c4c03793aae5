// Vector forms of elementary functions, by SLEEF: errors of at most one unit in the last place.
// sleef.h hides its AVX2 and AVX-512 functions unless the whole file is compiled for them, so they
// are declared here. Read once per target, like loops.h.
#if defined(MUSTER_ENGINE_SLEEF_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MUSTER_ENGINE_SLEEF_H
#undef MUSTER_ENGINE_SLEEF_H
#else
#define MUSTER_ENGINE_SLEEF_H
#endif

#include <cmath>
#include <limits>

#include "muster/engine/ops/elementwise/loops-inl.h"

#undef MUSTER_SLEEF_UNARY
#undef MUSTER_SLEEF_BINARY
#undef MUSTER_HAS_SLEEF

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

template <class T>
using Lanes = hn::Vec<hn::ScalableTag<T>>;
#if HWY_TARGET == HWY_AVX3
#define MUSTER_HAS_SLEEF 1
#define MUSTER_SLEEF_F(function, ulp) Sleef_##function##f16_##ulp##avx512f
#define MUSTER_SLEEF_D(function, ulp) Sleef_##function##d8_##ulp##avx512f
#elif HWY_TARGET == HWY_AVX2
#define MUSTER_HAS_SLEEF 1
#define MUSTER_SLEEF_F(function, ulp) Sleef_##function##f8_##ulp##avx2
#define MUSTER_SLEEF_D(function, ulp) Sleef_##function##d4_##ulp##avx2
#else
#define MUSTER_HAS_SLEEF 0
#endif

#if MUSTER_HAS_SLEEF
using RawF = decltype(Lanes<float>::raw);
using RawD = decltype(Lanes<double>::raw);
#endif

/// Where SLEEF gives up too early: beyond this the standard library is asked.
template <class T>
struct Limits {
  static constexpr T kNone = std::numeric_limits<T>::infinity();
};

// A struct with `of` for one number (float, double and std::complex, from the standard library) and
// for vectors of them. `limit_f` and `limit_d`: see Limits.
#if MUSTER_HAS_SLEEF
#define MUSTER_SLEEF_UNARY(Name, standard, function, ulp, limit_f, limit_d) \
  extern "C" RawF MUSTER_SLEEF_F(function, ulp)(RawF);                      \
  extern "C" RawD MUSTER_SLEEF_D(function, ulp)(RawD);                      \
  struct Name {                                                             \
    static constexpr float kLimitF = limit_f;                               \
    static constexpr double kLimitD = limit_d;                              \
    template <class T>                                                      \
    static T of(T x) {                                                      \
      return standard(x);                                                   \
    }                                                                       \
    static HWY_INLINE Lanes<float> vector(Lanes<float> x) {                 \
      return Lanes<float>{MUSTER_SLEEF_F(function, ulp)(x.raw)};            \
    }                                                                       \
    static HWY_INLINE Lanes<double> vector(Lanes<double> x) {               \
      return Lanes<double>{MUSTER_SLEEF_D(function, ulp)(x.raw)};           \
    }                                                                       \
  };
#define MUSTER_SLEEF_BINARY(Name, standard, function, ulp)                     \
  extern "C" RawF MUSTER_SLEEF_F(function, ulp)(RawF, RawF);                   \
  extern "C" RawD MUSTER_SLEEF_D(function, ulp)(RawD, RawD);                   \
  struct Name {                                                                \
    template <class T>                                                         \
    static T of(T x, T y) {                                                    \
      return standard(x, y);                                                   \
    }                                                                          \
    static HWY_INLINE Lanes<float> vector(Lanes<float> x, Lanes<float> y) {    \
      return Lanes<float>{MUSTER_SLEEF_F(function, ulp)(x.raw, y.raw)};        \
    }                                                                          \
    static HWY_INLINE Lanes<double> vector(Lanes<double> x, Lanes<double> y) { \
      return Lanes<double>{MUSTER_SLEEF_D(function, ulp)(x.raw, y.raw)};       \
    }                                                                          \
  };
#else
#define MUSTER_SLEEF_UNARY(Name, standard, function, ulp, limit_f, limit_d) \
  struct Name {                                                             \
    template <class T>                                                      \
    static T of(T x) {                                                      \
      return standard(x);                                                   \
    }                                                                       \
  };
#define MUSTER_SLEEF_BINARY(Name, standard, function, ulp) \
  struct Name {                                            \
    template <class T>                                     \
    static T of(T x, T y) {                                \
      return standard(x, y);                               \
    }                                                      \
  };
#endif

#if MUSTER_HAS_SLEEF
template <class Op, class T>
HWY_INLINE void repair(const T* from, T* to, std::size_t count, T limit) {
  for (std::size_t k = 0; k < count; ++k)
    if (std::abs(from[k]) > limit) to[k] = Op::of(from[k]);
}

/// The last few items go through the same instructions as the others, so that a result does not
/// depend on where in a block it is.
template <class Op, class T>
void run_vector(const std::byte* const* in, std::byte* out, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr T kLimit = sizeof(T) == 4 ? static_cast<T>(Op::kLimitF) : static_cast<T>(Op::kLimitD);
  constexpr bool kLimited = kLimit < Limits<T>::kNone;
  const auto* const from = reinterpret_cast<const T*>(in[0]);
  auto* const to = reinterpret_cast<T*>(out);
  const auto one = [&](const T* at, T* into, std::size_t n) HWY_ATTR {
    const auto x = hn::LoadU(d, at);
    bool doubtful = false;
    if constexpr (kLimited) doubtful = !hn::AllFalse(d, hn::Gt(hn::Abs(x), hn::Set(d, kLimit)));
    if (HWY_UNLIKELY(doubtful)) {
      alignas(64) T kept[64 / sizeof(T)];
      hn::StoreU(x, d, kept);
      hn::StoreU(Op::vector(x), d, into);
      repair<Op>(kept, into, n, kLimit);
      return;
    }
    hn::StoreU(Op::vector(x), d, into);
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) one(from + i, to + i, lanes);
  if (i == count) return;
  alignas(64) T rest[64 / sizeof(T)] = {};
  std::copy(from + i, from + count, rest);
  one(rest, rest, lanes);
  std::copy(rest, rest + (count - i), to + i);
}

template <class Op, class T>
void run_vector2(const std::byte* const* in, std::byte* out, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* const a = reinterpret_cast<const T*>(in[0]);
  const auto* const b = reinterpret_cast<const T*>(in[1]);
  auto* const to = reinterpret_cast<T*>(out);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(Op::vector(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, to + i);
  if (i == count) return;
  alignas(64) T left[64 / sizeof(T)] = {};
  alignas(64) T right[64 / sizeof(T)] = {};
  std::copy(a + i, a + count, left);
  std::copy(b + i, b + count, right);
  hn::StoreU(Op::vector(hn::LoadU(d, left), hn::LoadU(d, right)), d, left);
  std::copy(left, left + (count - i), to + i);
}
#else
template <class Op, class T>
void run_vector(const std::byte* const* in, std::byte* out, std::size_t count) {
  run<Op, T, T>(in, out, count);
}
template <class Op, class T>
void run_vector2(const std::byte* const* in, std::byte* out, std::size_t count) {
  run<Op, T, T, T>(in, out, count);
}
#endif

/// f16, f32 and f64.
template <class Op>
Rows vector_rows() {
  return Rows()
      .add({{Type::f16}, Type::f16, run_half<run_vector<Op, float>, 1, Float16>})
      .add({{Type::f32}, Type::f32, run_vector<Op, float>})
      .add({{Type::f64}, Type::f64, run_vector<Op, double>});
}
template <class Op>
Rows vector_rows2() {
  return Rows()
      .add({{Type::f16, Type::f16}, Type::f16, run_half<run_vector2<Op, float>, 2, Float16>})
      .add({{Type::f32, Type::f32}, Type::f32, run_vector2<Op, float>})
      .add({{Type::f64, Type::f64}, Type::f64, run_vector2<Op, double>});
}
/// Complex numbers too.
template <class Op>
std::vector<LoopRow> vector_rows_and_complex() {
  return vector_rows<Op>().template unary<Op>(kComplexes);
}

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
