#include "muster/comm/collective/scalar.h"

namespace muster::comm::collective::scalar {
namespace {

template <class T>
ReduceKernel for_type(ReductionKind kind) {
  constexpr bool kInteger = std::integral<T>;
  constexpr bool kOrdered =
      !std::same_as<T, std::complex<float>> && !std::same_as<T, std::complex<double>>;
  switch (kind) {
    case ReductionKind::sum:
    case ReductionKind::mean: return reduce<T, Sum>;
    case ReductionKind::prod: return reduce<T, Prod>;
    case ReductionKind::min:
      if constexpr (kOrdered) return reduce<T, Min>;
      break;
    case ReductionKind::max:
      if constexpr (kOrdered) return reduce<T, Max>;
      break;
    case ReductionKind::band:
      if constexpr (kInteger) return reduce<T, And>;
      break;
    case ReductionKind::bor:
      if constexpr (kInteger) return reduce<T, Or>;
      break;
    case ReductionKind::bxor:
      if constexpr (kInteger) return reduce<T, Xor>;
      break;
    case ReductionKind::user: break;
  }
  return nullptr;
}

}  // namespace

ReduceKernel kernel(ReductionKind kind, Element element) {
  switch (element) {
    case Element::i8: return for_type<std::int8_t>(kind);
    case Element::u8: return for_type<std::uint8_t>(kind);
    case Element::i16: return for_type<std::int16_t>(kind);
    case Element::u16: return for_type<std::uint16_t>(kind);
    case Element::i32: return for_type<std::int32_t>(kind);
    case Element::u32: return for_type<std::uint32_t>(kind);
    case Element::i64: return for_type<std::int64_t>(kind);
    case Element::u64: return for_type<std::uint64_t>(kind);
    case Element::bf16: return for_type<BFloat16>(kind);
    case Element::f16: return for_type<Float16>(kind);
    case Element::f32: return for_type<float>(kind);
    case Element::f64: return for_type<double>(kind);
    case Element::c64: return for_type<std::complex<float>>(kind);
    case Element::c128: return for_type<std::complex<double>>(kind);
  }
  return nullptr;
}

}  // namespace muster::comm::collective::scalar
