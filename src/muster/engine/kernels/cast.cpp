#include <type_traits>

#include "muster/engine/kernels/independent_items.h"
#include "muster/engine/kernels/targets.h"
#include "muster/engine/kernels/ufunc.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/kernels/cast.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

template <class T>
inline constexpr bool kIsComplexNumber = false;
template <class T>
inline constexpr bool kIsComplexNumber<std::complex<T>> = true;

/// Out of range is undefined in C++; NumPy gives what the processor gives, by way of 64 bits.
template <class To, class From>
HWY_INLINE To whole_part(From value) {
  constexpr double kLimit = 9223372036854775808.0;
  const auto wide = static_cast<double>(value);
  if constexpr (std::is_same_v<To, std::uint64_t>) {
    if (wide >= kLimit && wide < 2 * kLimit)
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(wide - kLimit)) +
             (std::uint64_t{1} << 63);
  }
  const bool fits = wide >= -kLimit && wide < kLimit;
  const auto whole = static_cast<std::int64_t>(fits ? wide : 0.0);
  return static_cast<To>(fits ? whole : INT64_MIN);
}

template <class To, class From>
HWY_INLINE To convert_item(From value) {
  if constexpr (std::is_same_v<From, Float16>) {
    return convert_item<To>(to_float(value));
  } else if constexpr (std::is_same_v<To, Float16>) {
    return to_float16(convert_item<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (kIsComplexNumber<From>) {
    if constexpr (kIsComplexNumber<To>)
      return To(static_cast<typename To::value_type>(value.real()),
                static_cast<typename To::value_type>(value.imag()));
    else
      return convert_item<To>(value.real());
  } else if constexpr (kIsComplexNumber<To>) {
    return To(static_cast<typename To::value_type>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return whole_part<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void cast_items(const std::byte* const* inputs, std::byte* output, std::size_t count) {
  const auto* const in = reinterpret_cast<const From*>(inputs[0]);
  auto* const out = reinterpret_cast<To*>(output);
  MUSTER_INDEPENDENT_ITEMS
  for (std::size_t i = 0; i < count; ++i) out[i] = convert_item<To>(in[i]);
}

/// What stands for `To`: the bits of a whole number are the same with and without a sign, but for
/// the largest that are made of floats.
template <class To>
using SameBits = std::conditional_t<
    !std::is_integral_v<To> || std::is_same_v<To, bool>, To,
    std::conditional_t<sizeof(To) == 1, std::uint8_t,
                       std::conditional_t<sizeof(To) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(To) == 4, std::uint32_t, To>>>>;

/// `complex`: whether it is one of the loops that have to do with complex numbers; others are null.
template <bool complex>
Loop find_cast_of(Type from, Type to) {
  return with_type(from, [&](auto source) -> Loop {
    return with_type(to, [](auto target) -> Loop {
      using From = decltype(source);
      using To = decltype(target);
      if constexpr ((kIsComplexNumber<From> || kIsComplexNumber<To>) == complex)
        return cast_items<From, SameBits<To>>;
      else
        return nullptr;
    });
  });
}
Loop find_cast(Type from, Type to) { return find_cast_of<false>(from, to); }
#if HWY_ONCE
// Compiled once, for all processors.
Loop find_complex_cast(Type from, Type to) { return find_cast_of<true>(from, to); }
#endif

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {
namespace {
HWY_EXPORT(find_cast);
}

Loop cast_loop(Type from, Type to) {
  if (is_complex(from) || is_complex(to)) return HWY_STATIC_DISPATCH(find_complex_cast)(from, to);
  return HWY_DYNAMIC_DISPATCH(find_cast)(from, to);
}

}  // namespace muster::engine
#endif
