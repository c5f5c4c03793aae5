#include "muster/comm/collective/vector.h"

// Highway compiles this file once per target. Processors between these, which lie a decade back,
// take the portable target.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/comm/collective/vector.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "muster/comm/collective/scalar.h"

HWY_BEFORE_NAMESPACE();
namespace muster::comm::collective::vector::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct VecSum {
  using Plain = scalar::Sum;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};

struct VecProd {
  using Plain = scalar::Prod;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Mul(a, b);
  }
};

// The processor's minimum and maximum forget a NaN on one side, so floats are compared.
struct VecMin {
  using Plain = scalar::Min;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>())
      return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Lt(a, b)), a, b);
    else
      return hn::Min(a, b);
  }
};

struct VecMax {
  using Plain = scalar::Max;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>())
      return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Gt(a, b)), a, b);
    else
      return hn::Max(a, b);
  }
};

struct VecAnd {
  using Plain = scalar::And;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::And(a, b);
  }
};

struct VecOr {
  using Plain = scalar::Or;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Or(a, b);
  }
};

struct VecXor {
  using Plain = scalar::Xor;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Xor(a, b);
  }
};

/// How items of type T come into a vector of what is computed with, and go back.
template <class T>
struct Items {
  using D = hn::ScalableTag<T>;
  static HWY_INLINE hn::Vec<D> load(const std::byte* at) {
    return hn::LoadU(D(), reinterpret_cast<const T*>(at));
  }
  static HWY_INLINE void store(hn::Vec<D> v, std::byte* at) {
    hn::StoreU(v, D(), reinterpret_cast<T*>(at));
  }
};

template <>
struct Items<BFloat16> {
  using D = hn::ScalableTag<float>;
  using Bits = hn::RebindToUnsigned<D>;
  using Halves = hn::Rebind<std::uint16_t, D>;
  static HWY_INLINE hn::Vec<D> load(const std::byte* at) {
    const auto halves = hn::LoadU(Halves(), reinterpret_cast<const std::uint16_t*>(at));
    return hn::BitCast(D(), hn::ShiftLeft<16>(hn::PromoteTo(Bits(), halves)));
  }
  static HWY_INLINE void store(hn::Vec<D> v, std::byte* at) {
    const Bits d;
    const auto bits = hn::BitCast(d, v);
    const auto upper = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(upper, hn::Set(d, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7fff))));
    const auto quiet = hn::Or(upper, hn::Set(d, 0x40));
    const auto nan = hn::RebindMask(d, hn::IsNaN(v));
    const auto result = hn::BitCast(hn::RebindToSigned<D>(), hn::IfThenElse(nan, quiet, rounded));
    hn::StoreU(hn::DemoteTo(Halves(), result), Halves(), reinterpret_cast<std::uint16_t*>(at));
  }
};

// Elsewhere Highway converts binary16 with shortcuts for rounding, and the plain code is used.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define MUSTER_HAS_FLOAT16 1
template <>
struct Items<Float16> {
  using D = hn::ScalableTag<float>;
  using Halves = hn::Rebind<hwy::float16_t, D>;
  static HWY_INLINE hn::Vec<D> load(const std::byte* at) {
    return hn::PromoteTo(D(), hn::LoadU(Halves(), reinterpret_cast<const hwy::float16_t*>(at)));
  }
  static HWY_INLINE void store(hn::Vec<D> v, std::byte* at) {
    hn::StoreU(hn::DemoteTo(Halves(), v), Halves(), reinterpret_cast<hwy::float16_t*>(at));
  }
};
#else
#define MUSTER_HAS_FLOAT16 0
#endif

template <class T, class Op>
void run(std::byte* into, const std::byte* a, const std::byte* b, std::size_t count) {
  using I = Items<T>;
  const std::size_t lanes = hn::Lanes(typename I::D());
  const std::size_t step = lanes * sizeof(T);
  std::size_t left = count;
  const Op op;
  // All four are loaded before the first is stored, or the compiler would have to keep their order.
  for (; left >= 4 * lanes; left -= 4 * lanes) {
    const auto r0 = op(I::load(a), I::load(b));
    const auto r1 = op(I::load(a + step), I::load(b + step));
    const auto r2 = op(I::load(a + 2 * step), I::load(b + 2 * step));
    const auto r3 = op(I::load(a + 3 * step), I::load(b + 3 * step));
    I::store(r0, into);
    I::store(r1, into + step);
    I::store(r2, into + 2 * step);
    I::store(r3, into + 3 * step);
    a += 4 * step;
    b += 4 * step;
    into += 4 * step;
  }
  for (; left >= lanes; left -= lanes) {
    I::store(op(I::load(a), I::load(b)), into);
    a += step;
    b += step;
    into += step;
  }
  scalar::reduce<T, typename Op::Plain>(into, a, b, left);
}

/// A loop that the compiler makes vectors of: for what Highway has no instruction for on all
/// targets.
template <class T, class Op>
void run_plain(std::byte* into, const std::byte* a, const std::byte* b, std::size_t count) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
  for (std::size_t i = 0; i < count; ++i)
    scalar::reduce<T, Op>(into + i * sizeof(T), a + i * sizeof(T), b + i * sizeof(T), 1);
}

template <class T>
ReduceKernel of_number(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::sum:
    case ReductionKind::mean: return run<T, VecSum>;
    case ReductionKind::prod:
      if constexpr (std::integral<T> && (sizeof(T) == 1 || sizeof(T) == 8))
        return run_plain<T, scalar::Prod>;
      else
        return run<T, VecProd>;
    case ReductionKind::min: return run<T, VecMin>;
    case ReductionKind::max: return run<T, VecMax>;
    default: break;
  }
  return nullptr;
}

template <class T>
ReduceKernel of_integer(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::band: return run<T, VecAnd>;
    case ReductionKind::bor: return run<T, VecOr>;
    case ReductionKind::bxor: return run<T, VecXor>;
    default: return of_number<T>(kind);
  }
}

/// Sums of complex numbers are sums of their parts.
template <class T>
void sum_complex(std::byte* into, const std::byte* a, const std::byte* b, std::size_t count) {
  run<T, VecSum>(into, a, b, 2 * count);
}

template <class T>
void multiply_complex(std::byte* into, const std::byte* a, const std::byte* b, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t step = 2 * lanes * sizeof(T);
  for (; count >= lanes; count -= lanes) {
    hn::Vec<decltype(d)> a_real, a_imag, b_real, b_imag;
    hn::LoadInterleaved2(d, reinterpret_cast<const T*>(a), a_real, a_imag);
    hn::LoadInterleaved2(d, reinterpret_cast<const T*>(b), b_real, b_imag);
    const auto real = hn::Sub(hn::Mul(a_real, b_real), hn::Mul(a_imag, b_imag));
    const auto imag = hn::Add(hn::Mul(a_real, b_imag), hn::Mul(a_imag, b_real));
    hn::StoreInterleaved2(real, imag, d, reinterpret_cast<T*>(into));
    a += step;
    b += step;
    into += step;
  }
  scalar::reduce<std::complex<T>, scalar::Prod>(into, a, b, count);
}

template <class T>
ReduceKernel of_complex(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::sum:
    case ReductionKind::mean: return sum_complex<T>;
    case ReductionKind::prod: return multiply_complex<T>;
    default: return nullptr;
  }
}

ReduceKernel find(ReductionKind kind, Element element) {
  switch (element) {
    case Element::i8: return of_integer<std::int8_t>(kind);
    case Element::u8: return of_integer<std::uint8_t>(kind);
    case Element::i16: return of_integer<std::int16_t>(kind);
    case Element::u16: return of_integer<std::uint16_t>(kind);
    case Element::i32: return of_integer<std::int32_t>(kind);
    case Element::u32: return of_integer<std::uint32_t>(kind);
    case Element::i64: return of_integer<std::int64_t>(kind);
    case Element::u64: return of_integer<std::uint64_t>(kind);
    case Element::bf16: return of_number<BFloat16>(kind);
#if MUSTER_HAS_FLOAT16
    case Element::f16: return of_number<Float16>(kind);
#else
    case Element::f16: return nullptr;
#endif
    case Element::f32: return of_number<float>(kind);
    case Element::f64: return of_number<double>(kind);
    case Element::c64: return of_complex<float>(kind);
    case Element::c128: return of_complex<double>(kind);
  }
  return nullptr;
}
#undef MUSTER_HAS_FLOAT16

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace muster::comm::collective::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::comm::collective::vector {
namespace {
HWY_EXPORT(find);
HWY_EXPORT(target_name);
}  // namespace

ReduceKernel kernel(ReductionKind kind, Element element) {
  return HWY_DYNAMIC_DISPATCH(find)(kind, element);
}

const char* target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace muster::comm::collective::vector
#endif
