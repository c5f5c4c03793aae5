#include "muster/engine/ops/statistics/quantile.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/reduction/reduce.h"
#include "muster/engine/ops/statistics/joined_counts.h"
#include "muster/engine/ops/statistics/quantile_items.h"
#include "muster/engine/ops/statistics/select.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// The items with the reduced axes last and as one, in memory of our own.
Array columns_of(const Array& input, const std::vector<int>& axes, Type type, Memory& memory) {
  std::vector<int> order;
  for (std::size_t axis = 0; axis < input.ndim(); ++axis)
    if (std::find(axes.begin(), axes.end(), static_cast<int>(axis)) == axes.end())
      order.push_back(static_cast<int>(axis));
  order.insert(order.end(), axes.begin(), axes.end());
  const Array seen = input.transposed(order);
  if (input.dtype().type != type) return gapless(seen, type, memory);
  Array items(memory, input.dtype(), seen.shape());
  copy_items(seen, items);
  return items;
}

template <class T>
void quantiles_of(T* items, Index count, const QuantilesWanted& wanted,
                  const QuantileWriter& writer, const std::vector<std::byte*>& out) {
  Index numbers = count;
  if constexpr (std::is_floating_point_v<T>)
    numbers = std::partition(items, items + count, [](T item) { return item == item; }) - items;
  if (numbers == 0 || (numbers < count && !wanted.skip_nan)) {
    for (std::byte* const to : out) writer.put_none(to);
    return;
  }
  std::vector<Rank> ranks;
  std::vector<Index> places;
  for (const double q : wanted.q) {
    ranks.push_back(rank_of(wanted.method, numbers, q));
    places.push_back(ranks.back().before);
    places.push_back(ranks.back().after);
  }
  place_ranks(items, numbers, std::move(places));
  for (std::size_t i = 0; i < ranks.size(); ++i)
    writer.put(items[ranks[i].before], items[ranks[i].after], ranks[i].share, out[i]);
}

void run_quantile(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const QuantilesWanted wanted(attributes);
  std::vector<int> axes;
  for (const Index axis : attributes.get<Ints>("axes")) axes.push_back(static_cast<int>(axis));
  const Array& input = context.input(0);
  const Type type = compared_as(input.dtype().type);
  Array items = columns_of(input, axes, type, context.memory());
  const Shape kept = reduced_shape(input.shape(), axes, attributes.get<bool>("keepdims", false));
  Shape shape = wanted.q_shape;
  shape.insert(shape.end(), kept.begin(), kept.end());
  Array out = context.make(wanted.dtype, shape);
  const QuantileWriter writer(wanted, type);
  const Index columns = volume(kept);
  const Index length = columns == 0 ? 0 : items.size() / columns;
  std::vector<std::byte*> to(wanted.q.size());
  with_compared(type, [&](auto example) {
    using T = decltype(example);
    for (Index column = 0; column < columns; ++column) {
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i] =
            out.mutable_data() +
            static_cast<std::size_t>(static_cast<Index>(i) * columns + column) * out.item_size();
      quantiles_of(items.mutable_as<T>() + column * length, length, wanted, writer, to);
    }
  });
  context.set(std::move(out));
}
constexpr KernelRow kQuantileKernel{"quantile", run_quantile,
                                    [](const Attributes&, std::span<const Index> inputs) {
                                      return 3 * static_cast<std::size_t>(inputs.front());
                                    }};

std::vector<Meta> infer_quantile(const Call& call) {
  const Meta input = call.inputs.front().meta();
  if (is_complex(input.dtype.type) || is_time(input.dtype.type))
    wrong_type(fmt::format("{}is not defined for {}", call.prefix(), name(input.dtype)));
  const auto method = call.attributes.get<std::string>("method", "linear");
  if (!quantile_method_named(method))
    wrong_value(fmt::format("{}there is no method '{}'", call.prefix(), method));
  const auto q = call.attributes.get<Array>("q");
  for (Index i = 0; i < q.size(); ++i)
    if (const double each = q.as<double>()[i]; !(each >= 0 && each <= 1))
      wrong_value(fmt::format("{}quantiles must be from 0 to 1, not {}", call.prefix(), each));
  const auto axes = reduced_axes(call.attributes, input.shape.size(), std::string(call.row.name));
  const DType usual = is_float(input.dtype.type) || is_discrete(*quantile_method_named(method))
                          ? input.dtype
                          : DType(Type::f64);
  Shape shape = q.shape();
  const Shape kept = reduced_shape(input.shape, axes, call.attributes.get<bool>("keepdims", false));
  shape.insert(shape.end(), kept.begin(), kept.end());
  return {{call.attributes.get<DType>("dtype", usual), shape}};
}

TileResult tile_quantile(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const Tiled& input = context.input(0);
  const std::size_t ndim = input.splits.size();
  const auto axes = reduced_axes(context.attributes(), ndim, std::string(context.row().name));
  const bool keepdims = context.attributes().get<bool>("keepdims", false);
  const auto q = context.attributes().get<Array>("q");
  const DType dtype = context.output().dtype;
  const Attributes attributes = {
      {"q", q},
      {"method", context.attributes().get<std::string>("method", "linear")},
      {"skip_nan", context.attributes().get<bool>("skip_nan", false)},
      {"axes", Ints(axes.begin(), axes.end())},
      {"keepdims", keepdims},
      {"dtype", dtype}};

  // Along the reduced axes, chunks are put together.
  Splits target = input.splits;
  const Shape shape = shape_of(input.splits);
  for (const int axis : axes)
    target[static_cast<std::size_t>(axis)] = {shape[static_cast<std::size_t>(axis)]};
  Splits out_splits;
  for (const Index extent : q.shape()) out_splits.push_back({extent});
  for (std::size_t axis = 0; axis < ndim; ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(axis)) != axes.end();
    if (!reduced)
      out_splits.push_back(target[axis]);
    else if (keepdims)
      out_splits.push_back({1});
  }
  Tiled out{out_splits, {}};
  const auto result_of = [&](const Shape& extents) {
    Shape result = q.shape();
    const Shape kept = reduced_shape(extents, axes, keepdims);
    result.insert(result.end(), kept.begin(), kept.end());
    return Meta{dtype, result};
  };
  if (axes.size() == ndim && input.chunks.size() > 1) {
    out.chunks = {select_over_chunks(context, input, attributes, result_of(shape))};
    return out;
  }
  const Tiled whole = rechunk(context, input, context.input_meta(0).dtype, target);
  for (const ChunkRef chunk : whole.chunks) {
    const Meta result = result_of(context.meta(chunk).shape);
    out.chunks.push_back(context.emit(kQuantileKernel, attributes, {chunk}, result));
  }
  return out;
}

constexpr OperatorRow kRow{.name = "quantile",
                           .summary = "quantiles, percentiles and medians along axes",
                           .family = Family::statistics,
                           .infer = infer_quantile,
                           .tile = tile_quantile};

}  // namespace

void register_quantile(Registry& registry) {
  registry.add(kRow);
  registry.add(kQuantileKernel);
  register_select(registry);
}

Tensor quantile(const Tensor& x, const std::vector<double>& q, const Over& over,
                const std::string& method) {
  return apply_one(
      kRow, {x},
      over.attributes()
          .with("q", Array::copy_of(Type::f64, {static_cast<Index>(q.size())}, q.data()))
          .with("method", method));
}

Tensor median(const Tensor& x, const Over& over) {
  const double half = 0.5;
  return apply_one(kRow, {x},
                   over.attributes()
                       .with("q", Array::copy_of(Type::f64, {}, &half))
                       .with("method", std::string("median")));
}

}  // namespace muster::engine
