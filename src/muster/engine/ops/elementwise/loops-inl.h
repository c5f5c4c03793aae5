// Loops of element-wise functions. Included by files that Highway compiles once per target, so it
// is read once per target too: plain loops over inlined functions, which the compiler makes vectors
// of.
#if defined(MUSTER_ENGINE_LOOPS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MUSTER_ENGINE_LOOPS_H
#undef MUSTER_ENGINE_LOOPS_H
#else
#define MUSTER_ENGINE_LOOPS_H
#endif

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <hwy/highway.h>

#include "muster/engine/kernels/independent_items.h"
#include "muster/engine/ops/elementwise/ufunc_row.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;
template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T>;

/// Integers wrap around, as unsigned ones may.
template <class T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <class T>
HWY_INLINE bool is_nan(T value) {
  return value != value;
}

template <class Op, class Out, class A>
void run(const std::byte* const* in, std::byte* out, std::size_t count) {
  const auto* const a = reinterpret_cast<const A*>(in[0]);
  auto* const to = reinterpret_cast<Out*>(out);
  MUSTER_INDEPENDENT_ITEMS
  for (std::size_t i = 0; i < count; ++i) to[i] = Op::of(a[i]);
}

template <class Op, class Out, class A, class B>
void run(const std::byte* const* in, std::byte* out, std::size_t count) {
  const auto* const a = reinterpret_cast<const A*>(in[0]);
  const auto* const b = reinterpret_cast<const B*>(in[1]);
  auto* const to = reinterpret_cast<Out*>(out);
  MUSTER_INDEPENDENT_ITEMS
  for (std::size_t i = 0; i < count; ++i) to[i] = Op::of(a[i], b[i]);
}

template <class Op, class Out, class A, class B, class C>
void run(const std::byte* const* in, std::byte* out, std::size_t count) {
  const auto* const a = reinterpret_cast<const A*>(in[0]);
  const auto* const b = reinterpret_cast<const B*>(in[1]);
  const auto* const c = reinterpret_cast<const C*>(in[2]);
  auto* const to = reinterpret_cast<Out*>(out);
  MUSTER_INDEPENDENT_ITEMS
  for (std::size_t i = 0; i < count; ++i) to[i] = Op::of(a[i], b[i], c[i]);
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define MUSTER_HAS_FLOAT16 1
#else
#define MUSTER_HAS_FLOAT16 0
#endif

HWY_NOINLINE inline void widen(const Float16* from, float* to, std::size_t count) {
  std::size_t i = 0;
#if MUSTER_HAS_FLOAT16
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> halves;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    hn::StoreU(
        hn::PromoteTo(d, hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(from + i))), d,
        to + i);
#endif
  for (; i < count; ++i) to[i] = to_float(from[i]);
}

HWY_NOINLINE inline void narrow(const float* from, Float16* to, std::size_t count) {
  std::size_t i = 0;
#if MUSTER_HAS_FLOAT16
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> halves;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    hn::StoreU(hn::DemoteTo(halves, hn::LoadU(d, from + i)), halves,
               reinterpret_cast<hwy::float16_t*>(to + i));
#endif
  for (; i < count; ++i) to[i] = to_float16(from[i]);
}
#undef MUSTER_HAS_FLOAT16

/// Half floats are computed as floats, a few at a time.
template <Loop kLoop, std::size_t kInputs, class Out>
void run_half(const std::byte* const* in, std::byte* out, std::size_t count) {
  constexpr std::size_t kTile = 256;
  alignas(64) float tiles[kInputs][kTile];
  alignas(64) float results[kTile];
  const std::byte* at[kInputs];
  for (std::size_t k = 0; k < kInputs; ++k) at[k] = reinterpret_cast<const std::byte*>(tiles[k]);
  auto* const to = reinterpret_cast<Out*>(out);
  for (std::size_t begin = 0; begin < count; begin += kTile) {
    const std::size_t n = std::min(kTile, count - begin);
    for (std::size_t k = 0; k < kInputs; ++k)
      widen(reinterpret_cast<const Float16*>(in[k]) + begin, tiles[k], n);
    if constexpr (std::is_same_v<Out, Float16>) {
      kLoop(at, reinterpret_cast<std::byte*>(results), n);
      narrow(results, to + begin, n);
    } else {
      kLoop(at, reinterpret_cast<std::byte*>(to + begin), n);
    }
  }
}

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, Float16>, float, T>;

template <class Op, class Out, class... In>
LoopRow row() {
  LoopRow made{{kTypeOf<In>...}, kTypeOf<Out>, nullptr};
  if constexpr ((std::is_same_v<In, Float16> && ...))
    made.loop = run_half<run<Op, Wide<Out>, Wide<In>...>, sizeof...(In), Out>;
  else
    made.loop = run<Op, Out, In...>;
  return made;
}

template <class... T>
struct Types {};
template <class... A, class... B>
constexpr Types<A..., B...> operator+(Types<A...>, Types<B...>) {
  return {};
}
constexpr Types<bool> kBool;
constexpr Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                std::int64_t, std::uint64_t>
    kIntegers;
constexpr Types<Float16, float, double> kFloats;
constexpr Types<std::complex<float>, std::complex<double>> kComplexes;

struct Same {
  template <class T>
  static HWY_INLINE T of(T x) {
    return x;
  }
};
template <bool answer>
struct Answer {
  static HWY_INLINE bool of(bool) { return answer; }
};
template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t,
                                          std::conditional_t<sizeof(T) == 8, std::uint64_t, T>>>>;

/// The typed forms of a function, in NumPy's order.
class Rows {
 public:
  template <class Op, class... T>
  Rows& unary(Types<T...>) {
    (list_.push_back(row<Op, T, T>()), ...);
    return *this;
  }
  template <class Op, class... T>
  Rows& binary(Types<T...>) {
    (list_.push_back(row<Op, T, T, T>()), ...);
    return *this;
  }
  /// Whether something holds.
  template <class Op, class... T>
  Rows& test(Types<T...>) {
    (list_.push_back(row<Op, bool, T>()), ...);
    return *this;
  }
  template <class Op, class... T>
  Rows& compare(Types<T...>) {
    (list_.push_back(row<Op, bool, T, T>()), ...);
    return *this;
  }
  // Whole numbers with and without a sign, where both are the same to the bits: half the loops.
  template <class Op>
  Rows& whole_unary() {
    return each_size([&](Type type, auto bits) {
      using T = decltype(bits);
      list_.push_back({{type}, type, run<Op, T, T>});
    });
  }
  template <class Op>
  Rows& whole_binary() {
    return each_size([&](Type type, auto bits) {
      using T = decltype(bits);
      list_.push_back({{type, type}, type, run<Op, T, T, T>});
    });
  }
  template <class Op>
  Rows& whole_compare() {
    return each_size([&](Type type, auto bits) {
      using T = decltype(bits);
      list_.push_back({{type, type}, Type::b1, run<Op, bool, T, T>});
    });
  }
  /// The item itself, whatever it is: its size decides.
  template <class... T>
  Rows& moved(Types<T...>) {
    (list_.push_back({{kTypeOf<T>}, kTypeOf<T>, run<Same, BitsOf<T>, BitsOf<T>>}), ...);
    return *this;
  }
  /// The same answer for all of them, which nobody looks at.
  template <bool answer, class... T>
  Rows& answered(Types<T...>) {
    (list_.push_back({{kTypeOf<T>}, Type::b1, run<Answer<answer>, bool, bool>}), ...);
    return *this;
  }
  /// Times, which are integers of another name.
  template <class Op, class Out, class... In>
  Rows& timed(Type out, std::array<Type, 3> in) {
    list_.push_back({in, out, run<Op, Out, In...>});
    return *this;
  }
  Rows& add(const LoopRow& row) {
    list_.push_back(row);
    return *this;
  }
  Rows& append(const Rows& others) {
    list_.insert(list_.end(), others.list_.begin(), others.list_.end());
    return *this;
  }
  operator std::vector<LoopRow>() const { return list_; }  // NOLINT: it is one

 private:
  template <class F>
  Rows& each_size(F&& add) {
    add(Type::i8, std::uint8_t{});
    add(Type::u8, std::uint8_t{});
    add(Type::i16, std::uint16_t{});
    add(Type::u16, std::uint16_t{});
    add(Type::i32, std::uint32_t{});
    add(Type::u32, std::uint32_t{});
    add(Type::i64, std::uint64_t{});
    add(Type::u64, std::uint64_t{});
    return *this;
  }

  std::vector<LoopRow> list_;
};

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
