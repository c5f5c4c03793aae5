#include "muster/engine/ops/reduction/arg.h"

#include "muster/engine/ops/reduction/loops-inl.h"
#include "muster/engine/ops/reduction/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::reduction::HWY_NAMESPACE {

template <class T>
struct Found {
  Index place;  ///< -1 for nothing yet
  T value;
};

/// Where the first least or greatest item is; the first NaN, if there is one, or (skip) never one
/// unless there is nothing else.
template <class T, bool greatest, Nans nans, bool time = false>
struct Place {
  using Item = T;
  using State = Found<T>;
  using Result = Index;

  static HWY_INLINE bool is_none(T value) {
    if constexpr (time) return value == kNat;
    return is_nan(value);
  }
  static HWY_INLINE bool less(T a, T b) {
    if constexpr (kIsComplex<T>)
      return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
    else
      return a < b;
  }
  static HWY_INLINE bool better(T value, T best) {
    if (is_none(best)) return nans == Nans::skip && !is_none(value);
    if (is_none(value)) return nans == Nans::count;
    return greatest ? less(best, value) : less(value, best);
  }
  static HWY_INLINE State none() { return {-1, T{}}; }
  static HWY_INLINE State take(State best, Item item, Index place) {
    if (best.place < 0 || better(item, best.value)) return {place, item};
    return best;
  }
  static HWY_INLINE State run(const Item* in, std::size_t count, Index place) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < count; ++i)
      if (HWY_UNLIKELY(better(in[i], in[best]))) best = i;
    return {place + static_cast<Index>(best), in[best]};
  }
  static HWY_INLINE State join(State a, Index, State b, Index) {
    if (a.place < 0) return b;
    if (b.place < 0) return a;
    if (better(b.value, a.value)) return b;
    if (better(a.value, b.value)) return a;
    return b.place < a.place ? b : a;
  }
  static HWY_INLINE Result finish(State best, Index, double) {
    // All of them were NaN.
    return nans == Nans::skip && best.place >= 0 && is_none(best.value) ? -1 : best.place;
  }
};

template <bool greatest, Nans nans>
ReduceLoops places() {
  using enum Type;
  const ReduceLoop real = loop_of<Place<double, greatest, nans>>();
  const ReduceLoop complex = loop_of<Place<std::complex<double>, greatest, nans>>();
  const ReduceLoop whole = loop_of<Place<std::int64_t, greatest, Nans::count>>();
  return together({through(real, {{f16, i64}, {f32, i64}, {f64, i64}}),
                   through(complex, {{c64, i64}, {c128, i64}}),
                   through(whole, {{b1, i64}, {i8, i64}, {i16, i64}, {i32, i64}, {i64, i64}}),
                   through(whole, {{u8, i64}, {u16, i64}, {u32, i64}}),
                   {loop_of<Place<std::uint64_t, greatest, Nans::count>>(),
                    loop_of<Place<std::int64_t, greatest, nans, true>>(datetime, i64),
                    loop_of<Place<std::int64_t, greatest, nans, true>>(timedelta, i64)}});
}

}  // namespace muster::engine::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace muster::engine {

void register_arg(Registry& registry) {
  using namespace reduction::HWY_NAMESPACE;  // NOLINT: short names
  static const Reducer kArgMin{places<false, Nans::count>(), true, true};
  static const Reducer kArgMax{places<true, Nans::count>(), true, true};
  static const Reducer kNanArgMin{places<false, Nans::skip>(), true, true};
  static const Reducer kNanArgMax{places<true, Nans::skip>(), true, true};
  static const OperatorRow kRows[] = {
      reduction_row("argmin", "where the least item along an axis is", kArgMin),
      reduction_row("argmax", "where the greatest item along an axis is", kArgMax),
      reduction_row("nanargmin", "where the least item that is a number is", kNanArgMin),
      reduction_row("nanargmax", "where the greatest item that is a number is", kNanArgMax),
  };
  for (const OperatorRow& row : kRows) registry.add(row);
}

Tensor argmin(const Tensor& x, const Over& over) {
  return apply_one("argmin", {x}, over.attributes());
}
Tensor argmax(const Tensor& x, const Over& over) {
  return apply_one("argmax", {x}, over.attributes());
}

}  // namespace muster::engine
