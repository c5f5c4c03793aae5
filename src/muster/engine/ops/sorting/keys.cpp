#include "muster/engine/ops/sorting/keys.h"

#include <bit>
#include <limits>

#include "muster/base/float16.h"

namespace muster::engine {

namespace {

/// Bits of a float, which order like whole numbers with a sign but for negative ones, whose order
/// is reversed.
template <class U>
U float_key(U bits, bool nan, bool merge_zeros) {
  constexpr U kSign = U{1} << (sizeof(U) * 8 - 1);
  if (nan) return std::numeric_limits<U>::max();
  if (merge_zeros && bits == kSign) bits = 0;
  return static_cast<U>((bits & kSign) != 0 ? static_cast<U>(~bits) : static_cast<U>(bits | kSign));
}

template <class U>
U float_bits(U key) {
  constexpr U kSign = U{1} << (sizeof(U) * 8 - 1);
  return static_cast<U>((key & kSign) != 0 ? static_cast<U>(key ^ kSign) : static_cast<U>(~key));
}

template <class U>
bool is_nan(U bits, U infinity) {
  return static_cast<U>(bits & static_cast<U>(std::numeric_limits<U>::max() >> 1)) > infinity;
}

constexpr std::uint16_t kInfinity16 = 0x7c00;
constexpr std::uint32_t kInfinity32 = 0x7f80'0000;
constexpr std::uint64_t kInfinity64 = 0x7ff0'0000'0000'0000;

template <class U, class F>
void each(const Array& in, std::byte* out, F&& f) {
  const U* const from = in.as<U>();
  U* const to = reinterpret_cast<U*>(out);
  for (Index i = 0; i < in.size(); ++i) to[i] = f(from[i]);
}

template <class U>
void flip_sign(const Array& in, std::byte* out) {
  constexpr U kSign = U{1} << (sizeof(U) * 8 - 1);
  each<U>(in, out, [](U x) { return static_cast<U>(x ^ kSign); });
}

/// Fills in keys; false if the items are their own.
bool encode(const Array& in, std::byte* out, bool merge_zeros) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  switch (in.dtype().type) {
    case Type::i8: flip_sign<std::uint8_t>(in, out); return true;
    case Type::i16: flip_sign<std::uint16_t>(in, out); return true;
    case Type::i32: flip_sign<std::uint32_t>(in, out); return true;
    case Type::i64: flip_sign<std::uint64_t>(in, out); return true;
    case Type::datetime:
    case Type::timedelta:  // NaT is the least number: one less is the greatest
      each<std::uint64_t>(in, out, [](std::uint64_t x) { return (x ^ kSign) - 1; });
      return true;
    case Type::f16:
      each<std::uint16_t>(in, out, [=](std::uint16_t x) {
        return float_key(x, is_nan(x, kInfinity16), merge_zeros);
      });
      return true;
    case Type::f32:
      each<std::uint32_t>(in, out, [=](std::uint32_t x) {
        return float_key(x, is_nan(x, kInfinity32), merge_zeros);
      });
      return true;
    case Type::f64:
      each<std::uint64_t>(in, out, [=](std::uint64_t x) {
        return float_key(x, is_nan(x, kInfinity64), merge_zeros);
      });
      return true;
    default: return false;
  }
}

/// The other way round. The key of NaN becomes a NaN again.
bool decode(const Array& in, DType dtype, std::byte* out) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  switch (dtype.type) {
    case Type::i8: flip_sign<std::uint8_t>(in, out); return true;
    case Type::i16: flip_sign<std::uint16_t>(in, out); return true;
    case Type::i32: flip_sign<std::uint32_t>(in, out); return true;
    case Type::i64: flip_sign<std::uint64_t>(in, out); return true;
    case Type::datetime:
    case Type::timedelta:
      each<std::uint64_t>(in, out, [](std::uint64_t x) { return (x + 1) ^ kSign; });
      return true;
    case Type::f16: each<std::uint16_t>(in, out, float_bits<std::uint16_t>); return true;
    case Type::f32: each<std::uint32_t>(in, out, float_bits<std::uint32_t>); return true;
    case Type::f64: each<std::uint64_t>(in, out, float_bits<std::uint64_t>); return true;
    default: return false;
  }
}

}  // namespace

Type key_type(Type type) {
  if (is_complex(type)) return type;
  switch (item_size(type)) {
    case 1: return Type::u8;
    case 2: return Type::u16;
    case 4: return Type::u32;
    default: return Type::u64;
  }
}

void encode_into(const Array& items, bool merge_zeros, std::byte* to) {
  const bool plain = items.is_c_contiguous() &&
                     reinterpret_cast<std::uintptr_t>(items.data()) % items.item_size() == 0;
  if (plain && encode(items, to, merge_zeros)) return;
  Array copy = Array::share(items.dtype(), items.shape(),
                            c_strides(items.shape(), items.item_size()), to, nullptr);
  copy_items(items, copy);
  if (!plain) (void)encode(copy, to, merge_zeros);
}

Array encoded(const Array& items, bool merge_zeros, Memory& memory) {
  Array out(memory, key_type(items.dtype().type), items.shape());
  encode_into(items, merge_zeros, out.mutable_data());
  return out;
}

Array decoded(Array keys, DType dtype, Memory& memory) {
  if (keys.is_sole()) {
    (void)decode(keys, dtype, keys.mutable_data());
    return keys.view_as(dtype);
  }
  Array out(memory, dtype, keys.shape());
  if (!decode(keys, dtype, out.mutable_data())) copy_items(keys, out);
  return out;
}

Array paired(const Array& items, Index first, Memory& memory) {
  Array out(memory, Type::c128, items.shape());
  pair_up(items, first, reinterpret_cast<Pair*>(out.mutable_data()), memory);
  return out;
}

void pair_up(const Array& items, Index first, Pair* to, Memory& memory) {
  const Array keys = encoded(items, true, memory);
  with_key(keys.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_unsigned_v<T>) {
      const T* const from = keys.as<T>();
      for (Index i = 0; i < keys.size(); ++i)
        to[i] = {static_cast<std::uint64_t>(first + i), from[i]};
    }
  });
}

}  // namespace muster::engine
