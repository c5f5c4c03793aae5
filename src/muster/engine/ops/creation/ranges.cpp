#include "muster/engine/ops/creation/ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/evaluation.h"
#include "muster/engine/kernels/ufunc.h"
#include "muster/engine/ops/creation/create.h"

namespace muster::engine {

namespace {

/// As NumPy: the distance is that of the first two items, in their own type.
template <class T>
T nth(T first, T second, Index n) {
  if constexpr (std::is_same_v<T, Float16>) {
    return to_float16(nth(to_float(first), to_float(second), n));
  } else if constexpr (std::is_integral_v<T>) {
    const auto start = static_cast<std::uint64_t>(first);
    const auto distance = static_cast<std::uint64_t>(second) - start;
    return static_cast<T>(start + static_cast<std::uint64_t>(n) * distance);
  } else if constexpr (std::is_floating_point_v<T>) {
    return first + static_cast<T>(n) * (second - first);
  } else {
    return {nth(first.real(), second.real(), n), nth(first.imag(), second.imag(), n)};
  }
}

void run_arange(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const auto first = attributes.get<Scalar>("start");
  const auto second = attributes.get<Scalar>("next");
  const Index offset = attributes.get<Ints>("first").front();
  Array out = context.make(first.dtype(), attributes.get<Ints>("shape"));
  with_type(first.dtype().type, [&](auto type) {
    using T = decltype(type);
    const T one = first.as<T>();
    const T two = second.as<T>();
    T* const items = out.mutable_as<T>();
    for (Index i = 0; i < out.size(); ++i) items[i] = nth(one, two, offset + i);
  });
  context.set(std::move(out));
}
constexpr KernelRow kArangeKernel{"arange", run_arange};

constexpr OperatorRow kArange{
    .name = "arange",
    .summary = "numbers at equal distances, up to an end",
    .family = Family::creation,
    .infer = [](const Call& call) -> std::vector<Meta> {
      const auto start = call.attributes.get<Scalar>("start");
      const auto next = call.attributes.get<Scalar>("next");
      if (start.dtype() != next.dtype())
        wrong_type(call.prefix() + "the first two items have different dtypes");
      return {{start.dtype(), asked_shape(call)}};
    },
    .tile = [](TileContext& context) -> TileResult { return create(context, kArangeKernel); }};

template <class T>
struct Spaced {
  T start;
  T stop;
  T step;
  Index last;  ///< which item is `stop` itself; -1 for none
  Index divisor;
  bool tiny;  ///< the step is zero though the ends differ: divide first

  T operator()(Index n) const {
    if (n == last) return stop;
    using Real = decltype(std::abs(T{}));
    const auto number = static_cast<Real>(n);
    if (tiny) return number / static_cast<Real>(divisor) * (stop - start) + start;
    return number * step + start;
  }
};

template <class T>
Spaced<T> spaced(const Attributes& attributes) {
  Spaced<T> out{attributes.get<Scalar>("start").as<T>(),
                attributes.get<Scalar>("stop").as<T>(),
                T{},
                -1,
                1,
                false};
  const auto count = attributes.get<std::int64_t>("count");
  const bool endpoint = attributes.get<bool>("endpoint", true);
  out.divisor = endpoint ? count - 1 : count;
  using Real = decltype(std::abs(T{}));
  if (out.divisor > 0) {
    out.step = (out.stop - out.start) / static_cast<Real>(out.divisor);
    out.tiny = out.step == T{};
  }
  if (endpoint && count > 1) out.last = count - 1;
  return out;
}

template <class T>
void fill_spaced(KernelContext& context, Array& out) {
  const Spaced<T> item = spaced<T>(context.attributes());
  const bool whole = is_integer(out.dtype().type);
  const Loop convert = cast_loop(kTypeOf<T>, out.dtype().type);
  const Index offset = context.attributes().get<Ints>("first").front();
  std::array<T, kBlock> block;
  const auto* const from = reinterpret_cast<const std::byte*>(block.data());
  for (Index begin = 0; begin < out.size(); begin += kBlock) {
    const Index count = std::min(kBlock, out.size() - begin);
    for (Index i = 0; i < count; ++i) {
      T value = item(offset + begin + i);
      if constexpr (std::is_floating_point_v<T>)
        if (whole) value = std::floor(value);
      block[static_cast<std::size_t>(i)] = value;
    }
    convert(&from, out.mutable_data() + begin * static_cast<Index>(out.item_size()),
            static_cast<std::size_t>(count));
  }
}

void run_linspace(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  Array out = context.make(attributes.get<DType>("dtype"), Shape(attributes.get<Ints>("shape")));
  switch (attributes.get<Scalar>("start").dtype().type) {
    case Type::f32: fill_spaced<float>(context, out); break;
    case Type::c64: fill_spaced<std::complex<float>>(context, out); break;
    case Type::c128: fill_spaced<std::complex<double>>(context, out); break;
    default: fill_spaced<double>(context, out); break;
  }
  context.set(std::move(out));
}
constexpr KernelRow kLinspaceKernel{"linspace", run_linspace};

std::vector<Meta> infer_linspace(const Call& call) {
  const auto start = call.attributes.get<Scalar>("start");
  const Type type = start.dtype().type;
  if (start.dtype() != call.attributes.get<Scalar>("stop").dtype() ||
      (type != Type::f32 && type != Type::f64 && !is_complex(type)))
    wrong_type(call.prefix() + "both ends must be float32, float64 or complex, and alike; not " +
               name(start.dtype()));
  const Shape shape = asked_shape(call);
  if (shape != Shape{call.attributes.get<std::int64_t>("count")})
    wrong_value(fmt::format("{}the shape {} is not that of the items", call.prefix(), text(shape)));
  return {{call.attributes.get<DType>("dtype"), shape}};
}

constexpr OperatorRow kLinspace{
    .name = "linspace",
    .summary = "a number of items at equal distances",
    .family = Family::creation,
    .infer = infer_linspace,
    .tile = [](TileContext& context) -> TileResult { return create(context, kLinspaceKernel); }};

template <class T>
Tensor arange_of(T start, T stop, T step, Attribute::Value chunk_size) {
  if (step == T{}) wrong_value("[arange] the step must not be zero");
  const double exact = std::ceil((static_cast<double>(stop) - static_cast<double>(start)) /
                                 static_cast<double>(step));
  return apply_one(kArange, {},
                   {{"start", Scalar(start)},
                    {"next", Scalar(static_cast<T>(start + step))},
                    {"shape", Ints{static_cast<Index>(std::max(0.0, exact))}},
                    {"chunk_size", std::move(chunk_size)}});
}

}  // namespace

void register_ranges(Registry& registry) {
  registry.add(kArange);
  registry.add(kArangeKernel);
  registry.add(kLinspace);
  registry.add(kLinspaceKernel);
}

Tensor arange(std::int64_t start, std::int64_t stop, std::int64_t step,
              Attribute::Value chunk_size) {
  return arange_of(start, stop, step, std::move(chunk_size));
}

Tensor arange(double start, double stop, double step, Attribute::Value chunk_size) {
  return arange_of(start, stop, step, std::move(chunk_size));
}

Tensor linspace(double start, double stop, Index count, Attribute::Value chunk_size) {
  return apply_one(kLinspace, {},
                   {{"start", Scalar(start)},
                    {"stop", Scalar(stop)},
                    {"count", count},
                    {"dtype", DType(Type::f64)},
                    {"shape", Ints{count}},
                    {"chunk_size", std::move(chunk_size)}});
}

}  // namespace muster::engine
