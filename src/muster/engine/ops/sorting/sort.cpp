#include "muster/engine/ops/sorting/sort.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/sorting/keys.h"
#include "muster/engine/ops/sorting/long_sort.h"
#include "muster/engine/ops/sorting/runs.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// The axes with `axis` last, and the way back.
std::vector<int> axis_last(std::size_t ndim, std::size_t axis) {
  std::vector<int> axes;
  for (std::size_t i = 0; i < ndim; ++i)
    if (i != axis) axes.push_back(static_cast<int>(i));
  axes.push_back(static_cast<int>(axis));
  return axes;
}

Array back_in_place(const Array& array, std::size_t axis) {
  std::vector<int> axes(array.ndim());
  for (std::size_t i = 0; i < axes.size(); ++i)
    axes[i] = static_cast<int>(i < axis ? i : i == axis ? axes.size() - 1 : i - 1);
  return array.transposed(axes);
}

void run_sort(KernelContext& context) {
  const Array& in = context.input(0);
  const auto axis = static_cast<std::size_t>(context.attributes().get<std::int64_t>("axis"));
  Array keys = encoded(in.transposed(axis_last(in.ndim(), axis)), false, context.memory());
  const Index length = keys.shape().back();
  KeySorter sorter;
  with_key(keys.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    T* const items = keys.mutable_as<T>();
    for (Index at = 0; length > 0 && at < keys.size(); at += length)
      sorter.sort(items + at, static_cast<std::size_t>(length));
  });
  context.set(back_in_place(decoded(std::move(keys), in.dtype(), context.memory()), axis));
}
constexpr KernelRow kSort{"sort", run_sort};

template <class T>
void argsort_complex(const Array& lanes, std::int64_t* out) {
  const Index length = lanes.shape().back();
  const auto* items = lanes.as<std::complex<T>>();
  for (Index at = 0; length > 0 && at < lanes.size(); at += length)
    order_complex({items + at, static_cast<std::size_t>(length)}, out + at);
}

void run_argsort(KernelContext& context) {
  const Array& in = context.input(0);
  const auto axis = static_cast<std::size_t>(context.attributes().get<std::int64_t>("axis"));
  const Array lanes = in.transposed(axis_last(in.ndim(), axis));
  const Index length = lanes.shape().back();
  Array out = context.make(Type::i64, lanes.shape());
  auto* const places = out.mutable_as<std::int64_t>();
  if (is_complex(in.dtype().type)) {
    const Array items = lanes.contiguous(context.memory());
    if (in.dtype().type == Type::c64)
      argsort_complex<float>(items, places);
    else
      argsort_complex<double>(items, places);
  } else {
    Array pairs = paired(lanes, 0, context.memory());
    auto* const items = reinterpret_cast<Pair*>(pairs.mutable_data());
    KeySorter sorter;
    for (Index at = 0; length > 0 && at < pairs.size(); at += length) {
      sorter.sort(items + at, static_cast<std::size_t>(length));
      for (Index i = 0; i < length; ++i)
        places[at + i] = static_cast<std::int64_t>(items[at + i].place) - at;
    }
  }
  context.set(back_in_place(out, axis));
}
constexpr KernelRow kArgsort{"argsort", run_argsort};

bool is_argsort(const OperatorRow& row) { return row.name == "argsort"; }

std::vector<Meta> infer_sort(const Call& call) {
  const Meta input = call.inputs[0].meta();
  if (input.shape.empty())
    throw ArrayError(Wrong::index,
                     fmt::format("{}cannot sort a tensor without axes", call.prefix()));
  (void)normal_axis(call.attributes.get<std::int64_t>("axis", -1), input.shape.size(),
                    std::string(call.row.name));
  return {{is_argsort(call.row) ? DType(Type::i64) : input.dtype, input.shape}};
}

/// The axis in one chunk, the others cut so that chunks do not grow, and there are some for each
/// thread.
Tiled whole_lanes(TileContext& context, std::size_t axis) {
  const Meta& meta = context.input_meta(0);
  Splits target = context.input(0).splits;
  if (target[axis].size() == 1 && context.input(0).chunks.size() >= context.options().threads)
    return context.input(0);
  target[axis] = {meta.shape[axis]};
  std::size_t longest = axis == 0 ? 1 : 0;
  if (target.size() == 1) return rechunk(context, context.input(0), meta.dtype, target);
  for (std::size_t i = 0; i < target.size(); ++i)
    if (i != axis && meta.shape[i] > meta.shape[longest]) longest = i;
  const Index lanes = volume(meta.shape) / std::max<Index>(1, meta.shape[axis]);
  const auto most =
      std::min(static_cast<Index>(context.options().chunk_store_limit / item_size(meta.dtype)),
               most_in_task(context.options(), item_size(meta.dtype)));
  Index each = std::max<Index>(1, most / std::max<Index>(1, meta.shape[axis]));
  if (volume(meta.shape) > 100'000)
    each = std::min(each,
                    std::max<Index>(1, lanes / static_cast<Index>(2 * context.options().threads)));
  std::vector<Index> pieces;
  Index others = 1;
  for (std::size_t i = 0; i < target.size(); ++i)
    if (i != axis && i != longest) others *= *std::max_element(target[i].begin(), target[i].end());
  const Index length = std::max<Index>(1, each / std::max<Index>(1, others));
  for (const Index extent : target[longest])
    for (const Index piece : even_split(extent, length)) pieces.push_back(piece);
  target[longest] = pieces;
  return rechunk(context, context.input(0), meta.dtype, target);
}

TileResult tile_lanes(TileContext& context, std::size_t axis) {
  const Tiled input = whole_lanes(context, axis);
  const KernelRow& kernel = is_argsort(context.row()) ? kArgsort : kSort;
  Tiled out{input.splits, {}};
  for (const ChunkRef chunk : input.chunks)
    out.chunks.push_back(context.emit(kernel, {{"axis", static_cast<std::int64_t>(axis)}}, {chunk},
                                      {context.output().dtype, context.meta(chunk).shape}));
  return out;
}

/// Each of `given` in one piece at most; nothing if pieces end elsewhere.
std::optional<std::vector<std::size_t>> whole_in(const std::vector<Index>& given,
                                                 const std::vector<Index>& pieces) {
  std::vector<std::size_t> counts;
  std::size_t next = 0;
  for (const Index piece : pieces) {
    const std::size_t first = next;
    Index size = 0;
    while (size < piece && next < given.size()) size += given[next++];
    if (size != piece) return std::nullopt;
    counts.push_back(next - first);
  }
  counts.back() += given.size() - next;  // what is left is empty
  return counts;
}

/// The chunks of which each run of a lane consists; cut anew if they lie across the ends of runs.
std::vector<std::vector<ChunkRef>> chunks_of_runs(TileContext& context,
                                                  const std::vector<Index>& runs) {
  Tiled input = context.input(0);
  auto counts = whole_in(input.splits[0], runs);
  if (!counts) {
    input = rechunk(context, input, context.input_meta(0).dtype, {runs});
    counts.emplace(runs.size(), 1);
  }
  std::vector<std::vector<ChunkRef>> out;
  auto chunk = input.chunks.begin();
  for (const std::size_t count : *counts) {
    const auto end = chunk + static_cast<std::ptrdiff_t>(count);
    out.emplace_back(chunk, end);
    chunk = end;
  }
  return out;
}

TileResult tile_lane(TileContext& context, const SortPlan& plan) {
  SortedLane wanted{context.output().dtype, is_argsort(context.row()), {}};
  for (const Index part : plan.parts) wanted.shapes.push_back({part});
  return Tiled{{plan.parts}, sort_lane(context, plan, chunks_of_runs(context, plan.runs), wanted)};
}

/// Each lane by itself.
TileResult tile_long_lanes(TileContext& context, const SortPlan& plan, std::size_t axis) {
  const Meta& meta = context.input_meta(0);
  Splits splits;
  for (const Index extent : meta.shape) splits.emplace_back(static_cast<std::size_t>(extent), 1);
  splits[axis] = plan.runs;
  const Tiled input = rechunk(context, context.input(0), meta.dtype, splits);
  SortedLane wanted{context.output().dtype, is_argsort(context.row()), {}};
  for (const Index part : plan.parts) {
    wanted.shapes.emplace_back(meta.shape.size(), 1);
    wanted.shapes.back()[axis] = part;
  }
  splits[axis] = plan.parts;
  Tiled out{splits, std::vector<ChunkRef>(chunk_count(splits))};
  Splits lanes = splits;
  lanes[axis] = {1};
  const Shape grid = grid_of(splits);
  for_each_position(grid_of(lanes), [&](const Shape& lane) {
    Shape position = lane;
    std::vector<std::vector<ChunkRef>> runs;
    for (std::size_t i = 0; i < plan.runs.size(); ++i) {
      position[axis] = static_cast<Index>(i);
      runs.push_back({input.at(position)});
    }
    const std::vector<ChunkRef> sorted = sort_lane(context, plan, runs, wanted);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      position[axis] = static_cast<Index>(i);
      out.chunks[number_of(position, grid)] = sorted[i];
    }
  });
  return out;
}

TileResult tile_sort(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const Meta& meta = context.input_meta(0);
  const auto axis =
      static_cast<std::size_t>(normal_axis(context.attributes().get<std::int64_t>("axis", -1),
                                           meta.shape.size(), std::string(context.row().name)));
  const bool places = is_argsort(context.row());
  const Options& options = context.options();
  const std::size_t carried = item_size(carried_type(meta.dtype.type, places));
  const SortPlan plan = plan_sort(options, context.input(0).splits[axis], carried);
  if (plan.runs.size() == 1 || volume(meta.shape) == 0 || (places && is_complex(meta.dtype.type)))
    return tile_lanes(context, axis);
  if (meta.shape.size() == 1) return tile_lane(context, plan);
  // Lanes that fit into a task go through one, many at a time.
  const auto whole = std::min<Index>(most_in_task(options, carried),
                                     4 * static_cast<Index>(options.chunk_store_limit / carried));
  if (meta.shape[axis] <= whole) return tile_lanes(context, axis);
  return tile_long_lanes(context, plan, axis);
}

constexpr OperatorRow kSortRow{.name = "sort",
                               .summary = "the items along an axis in ascending order",
                               .family = Family::sorting,
                               .infer = infer_sort,
                               .tile = tile_sort};
constexpr OperatorRow kArgsortRow{.name = "argsort",
                                  .summary = "the places of items in ascending order",
                                  .family = Family::sorting,
                                  .infer = infer_sort,
                                  .tile = tile_sort};

}  // namespace

Tensor sort(const Tensor& x, Index axis) { return apply_one(kSortRow, {x}, {{"axis", axis}}); }
Tensor argsort(const Tensor& x, Index axis) {
  return apply_one(kArgsortRow, {x}, {{"axis", axis}});
}

void register_sort(Registry& registry) {
  registry.add(kSortRow);
  registry.add(kArgsortRow);
  for (const KernelRow* row : {&kSort, &kArgsort}) registry.add(*row);
  register_long_sort(registry);
}

}  // namespace muster::engine
