#include "muster/engine/ops/reduction/scan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"
#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/ufunc.h"
#include "muster/engine/ops/reduction/reduce.h"
#include "muster/engine/ops/shape/reshape.h"

namespace muster::engine {

namespace {

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

/// What is carried from item to item: wide enough that only results are rounded.
template <class T>
using Carried =
    std::conditional_t<kIsComplex<T>, std::complex<double>,
                       std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>>;

template <class T>
Carried<T> carried(T item) {
  if constexpr (std::is_same_v<T, Float16>)
    return to_float(item);
  else
    return static_cast<Carried<T>>(item);
}

template <class T>
T item_of(Carried<T> value) {
  if constexpr (std::is_same_v<T, Float16>)
    return to_float16(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else
    return static_cast<T>(value);
}

struct Plus {
  template <class A>
  static A join(A a, A b) {
    return a + b;
  }
};
struct Times {
  template <class A>
  static A join(A a, A b) {
    if constexpr (kIsComplex<A>)  // as NumPy: without the detour for infinities
      return A(a.real() * b.real() - a.imag() * b.imag(),
               a.real() * b.imag() + a.imag() * b.real());
    else
      return a * b;
  }
};
/// One missing time makes all that follow missing.
struct PlusTimes {
  static std::uint64_t join(std::uint64_t a, std::uint64_t b) {
    constexpr auto kNat = std::uint64_t{1} << 63;
    return a == kNat || b == kNat ? kNat : a + b;
  }
};

/// Items as `outer` times `length` times `inner`; the scan goes along `length`.
struct Form {
  Index outer = 1;
  Index length = 1;
  Index inner = 1;
};

Form form_of(const Shape& shape, std::size_t axis) {
  Form form;
  for (std::size_t i = 0; i < shape.size(); ++i)
    (i < axis ? form.outer : i == axis ? form.length : form.inner) *= shape[i];
  return form;
}

template <class T, class Op>
void scan_items(T* items, const T* carry, const Form& form, Carried<T> none) {
  constexpr Index kColumns = 512;
  std::vector<Carried<T>> sums(static_cast<std::size_t>(std::min(kColumns, form.inner)));
  for (Index o = 0; o < form.outer; ++o)
    for (Index column = 0; column < form.inner; column += kColumns) {
      const Index width = std::min(kColumns, form.inner - column);
      for (Index i = 0; i < width; ++i)
        sums[static_cast<std::size_t>(i)] =
            carry == nullptr ? none : carried(carry[o * form.inner + column + i]);
      T* row = items + o * form.length * form.inner + column;
      for (Index step = 0; step < form.length; ++step, row += form.inner)
        for (Index i = 0; i < width; ++i) {
          Carried<T>& sum = sums[static_cast<std::size_t>(i)];
          sum = Op::join(sum, carried(row[i]));
          row[i] = item_of<T>(sum);
        }
    }
}

template <class T>
void replace_nans(T* items, Index count, T by) {
  for (Index i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, Float16>) {
      if ((items[i].bits & 0x7fff) > 0x7c00) items[i] = by;
    } else if constexpr (kIsComplex<T>) {
      if (std::isnan(items[i].real()) || std::isnan(items[i].imag())) items[i] = by;
    } else if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(items[i])) items[i] = by;
    }
  }
}

void scan_array(Array& items, const Array* carry, std::size_t axis, bool product, bool skip_nan) {
  const Form form = form_of(items.shape(), axis);
  if (items.size() == 0) return;
  const bool time = is_time(items.dtype().type);
  with_type(items.dtype().type, [&](auto example) {
    using T = decltype(example);
    T* const at = items.mutable_as<T>();
    const T* const before = carry == nullptr ? nullptr : carry->as<T>();
    if (skip_nan) replace_nans(at, items.size(), item_of<T>(Carried<T>(product ? 1 : 0)));
    if (product)
      scan_items<T, Times>(at, before, form, Carried<T>(1));
    else if constexpr (std::is_same_v<T, std::int64_t>)
      time ? scan_items<T, PlusTimes>(at, before, form, 0)
           : scan_items<T, Plus>(at, before, form, 0);
    else
      scan_items<T, Plus>(at, before, form, Carried<T>(0));
  });
}

/// A fresh array of the items as another type.
Array fresh(const Array& from, DType to, Memory& memory) {
  if (from.dtype().type != to.type) return converted(from, to, memory);
  Array out(memory, to, from.shape());
  copy_items(from, out);
  return out;
}

/// Inputs: a chunk, and the result just before it unless it is the first.
void run_scan(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  Array out = fresh(context.input(0), attributes.get<DType>("dtype"), context.memory());
  Array carry;
  if (context.inputs().size() > 1) carry = context.input(1).contiguous(context.memory());
  scan_array(out, carry ? &carry : nullptr,
             static_cast<std::size_t>(attributes.get<std::int64_t>("axis")),
             attributes.get<bool>("product"), attributes.get<bool>("skip_nan"));
  context.set(std::move(out));
}
constexpr KernelRow kScan{"scan", run_scan};

/// Of the totals of chunks, what comes before each: output i is the total of inputs 0 to i.
void run_carries(KernelContext& context) {
  const bool product = context.attributes().get<bool>("product");
  const auto axis = static_cast<std::size_t>(context.attributes().get<std::int64_t>("axis"));
  Array last = context.input(0).contiguous(context.memory());
  context.set(0, last);
  for (std::size_t i = 1; i < context.inputs().size(); ++i) {
    Array next(context.memory(), last.dtype(), last.shape());
    copy_items(context.input(i), next);
    scan_array(next, &last, axis, product, false);
    context.set(i, next);
    last = std::move(next);
  }
}
constexpr KernelRow kCarries{"scan_carries", run_carries};

std::string total_of(const Attributes& attributes) {
  return fmt::format("{}{}", attributes.get<bool>("skip_nan") ? "nan" : "",
                     attributes.get<bool>("product") ? "prod" : "sum");
}

std::vector<Meta> infer_scan(const Call& call) {
  const Meta input = call.inputs.front().meta();
  return {{reduced_dtype(total_of(call.attributes), input.dtype, call.attributes), input.shape}};
}

TileResult tile_scan(TileContext& context) {
  const Tiled& input = context.input(0);
  const auto axis = static_cast<std::size_t>(context.attributes().get<std::int64_t>("axis"));
  const DType dtype = context.output().dtype;
  const Attributes attributes = context.attributes().with("dtype", dtype);
  const Shape grid = grid_of(input.splits);
  Tiled out{input.splits, std::vector<ChunkRef>(input.chunks.size())};
  Shape lines = grid;
  lines[axis] = 1;
  for_each_position(lines, [&](const Shape& line) {
    const auto number = [&](Index along) {
      Shape position = line;
      position[axis] = along;
      return number_of(position, grid);
    };
    std::vector<ChunkRef> totals;
    std::vector<Meta> metas;
    for (Index along = 0; along + 1 < grid[axis]; ++along) {
      totals.push_back(emit_reduction(context, total_of(attributes), dtype,
                                      input.chunks[number(along)], static_cast<int>(axis)));
      metas.push_back(context.meta(totals.back()));
    }
    std::uint32_t carries = 0;
    if (!totals.empty())
      carries = context.emit_many(kCarries, attributes, std::move(totals), std::move(metas));
    for (Index along = 0; along < grid[axis]; ++along) {
      std::vector<ChunkRef> inputs = {input.chunks[number(along)]};
      if (along > 0) inputs.push_back({carries, static_cast<std::uint32_t>(along - 1)});
      const Shape shape = context.meta(inputs.front()).shape;
      out.chunks[number(along)] =
          context.emit(kScan, attributes, std::move(inputs), {dtype, shape});
    }
  });
  return out;
}

constexpr OperatorRow kScanRow{.name = "scan",
                               .summary = "sums or products of the items up to each along an axis",
                               .family = Family::reduction,
                               .infer = infer_scan,
                               .tile = tile_scan};

template <bool product, bool skip_nan>
std::vector<Tensor> expand(const Call& call) {
  Tensor x = call.inputs.front();
  std::int64_t axis = 0;
  if (call.attributes.has("axis"))
    axis = normal_axis(call.attributes.get<std::int64_t>("axis"), x.ndim(),
                       std::string(call.row.name));
  else if (x.ndim() != 1)
    x = reshape(x, {-1});
  Attributes attributes = {{"axis", axis}, {"product", product}, {"skip_nan", skip_nan}};
  if (const auto* dtype = call.attributes.find("dtype"))
    attributes = attributes.with("dtype", *dtype);
  return {apply_one(kScanRow, {x}, std::move(attributes))};
}

template <bool product, bool skip_nan>
constexpr OperatorRow row_of(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .family = Family::reduction,
          .expand = expand<product, skip_nan>};
}

constexpr OperatorRow kRows[] = {
    row_of<false, false>("cumsum", "the sums of the items up to each"),
    row_of<true, false>("cumprod", "the products of the items up to each"),
    row_of<false, true>("nancumsum", "the sums of the items up to each, NaN as zero"),
    row_of<true, true>("nancumprod", "the products of the items up to each, NaN as one"),
};

Attributes along(std::optional<Index> axis) {
  return axis ? Attributes{{"axis", *axis}} : Attributes{};
}

}  // namespace

void register_scan(Registry& registry) {
  registry.add(kScanRow);
  for (const OperatorRow& row : kRows) registry.add(row);
  registry.add(kScan);
  registry.add(kCarries);
}

Tensor cumsum(const Tensor& x, std::optional<Index> axis) {
  return apply_one("cumsum", {x}, along(axis));
}
Tensor cumprod(const Tensor& x, std::optional<Index> axis) {
  return apply_one("cumprod", {x}, along(axis));
}

}  // namespace muster::engine
