#include "muster/engine/ops/reduction/product.h"

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/reduction/product.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "muster/engine/ops/reduction/loops-inl.h"
#include "muster/engine/ops/reduction/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::reduction::HWY_NAMESPACE {

/// Integers wrap around, and small floats are multiplied in double.
template <class T>
using Multiplied =
    std::conditional_t<kIsComplex<T>, std::complex<double>,
                       std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>>;

template <class Acc>
HWY_INLINE Acc product(Acc a, Acc b) {
  if constexpr (kIsComplex<Acc>)  // as NumPy: without the detour for infinities
    return Acc(a.real() * b.real() - a.imag() * b.imag(),
               a.real() * b.imag() + a.imag() * b.real());
  else
    return a * b;
}

template <class T, class Out, Nans nans = Nans::count>
struct Product {
  using Item = T;
  using State = Multiplied<T>;
  using Result = Out;
  static HWY_INLINE State factor(Item item) {
    if constexpr (nans == Nans::skip)
      if (is_nan(item)) return State(1);
    return widened<State>(item);
  }
  static HWY_INLINE State none() { return State(1); }
  static HWY_INLINE State take(State product_so_far, Item item, Index) {
    return product(product_so_far, factor(item));
  }
  static HWY_INLINE State run(const Item* in, std::size_t count, Index) {
    if constexpr (kIsComplex<T>) {
      State all(1);
      for (std::size_t i = 0; i < count; ++i) all = product(all, factor(in[i]));
      return all;
    } else {
      State all = 1;
#pragma omp simd reduction(* : all)
      for (std::size_t i = 0; i < count; ++i) all *= factor(in[i]);
      return all;
    }
  }
  static HWY_INLINE State join(State a, Index, State b, Index) { return product(a, b); }
  static HWY_INLINE Result finish(State all, Index, double) { return narrowed<Result>(all); }
};

/// Of float64 and int64, and of the numbers among float64.
ReduceLoops products() {
  return {loop_of<Product<double, double>>(), loop_of<Product<std::int64_t, std::int64_t>>(),
          loop_of<Product<double, double, Nans::skip>>()};
}

#if HWY_ONCE
/// What is seldom met is compiled once, for all processors.
template <Nans nans>
ReduceLoops inexact_products(const ReduceLoop& real) {
  using enum Type;
  using Complex = std::complex<double>;
  return together(
      {through(real, {{f64, f64}, {f32, f32}, {f16, f16}}),
       through(loop_of<Product<Complex, Complex, nans>>(), {{c128, c128}, {c64, c64}})});
}

ReduceLoops whole_products(const ReduceLoop& whole) {
  using enum Type;
  return together({through(whole, {{b1, i64}, {i8, i64}, {i16, i64}, {i32, i64}, {i64, i64}}),
                   through(whole, {{u8, u64}, {u16, u64}, {u32, u64}, {u64, u64}}),
                   // Where the caller says `dtype`.
                   through(whole, {{b1, b1}, {i8, i8}, {i16, i16}, {i32, i32}}),
                   through(whole, {{u8, u8}, {u16, u16}, {u32, u32}})});
}
#endif

}  // namespace muster::engine::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {

namespace reduction {
HWY_EXPORT(products);
}  // namespace reduction

void register_product(Registry& registry) {
  using namespace reduction;                 // NOLINT: HWY_DYNAMIC_DISPATCH takes a plain name
  using namespace reduction::HWY_NAMESPACE;  // NOLINT: what was compiled once
  const ReduceLoops loops = HWY_DYNAMIC_DISPATCH(products)();
  static const Reducer kProd{
      together({inexact_products<Nans::count>(loops[0]), whole_products(loops[1])})};
  static const Reducer kNanProd{
      together({inexact_products<Nans::skip>(loops[2]), whole_products(loops[1])})};
  static const OperatorRow kRows[] = {
      reduction_row("prod", "the product of the items along axes", kProd),
      reduction_row("nanprod", "the product of the items that are numbers", kNanProd),
  };
  for (const OperatorRow& row : kRows) registry.add(row);
}

Tensor prod(const Tensor& x, const Over& over) { return apply_one("prod", {x}, over.attributes()); }

}  // namespace muster::engine
#endif
