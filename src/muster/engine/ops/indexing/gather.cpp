#include "muster/engine/ops/indexing/gather.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/indexing/copy_rows.h"
#include "muster/engine/ops/indexing/index_axes.h"
#include "muster/engine/ops/indexing/scatter.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/unknown_inputs.h"
#include "muster/engine/value/starts.h"

namespace muster::engine {

namespace {

/// An index of more items is not looked through before the run; all chunks are read then.
constexpr Index kLookThrough = 4'000'000;

/// Where the chunks of the indexed axes begin, and which of them are at hand.
struct SourceGrid {
  std::vector<Ints> begins;
  Shape extents;
  Shape grid;
  std::vector<std::size_t> axes;

  /// The number of the chunk that has these positions, which are made local to it.
  [[nodiscard]] std::size_t locate(Index* positions) const {
    std::size_t number = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Index position = normal_index(positions[i], extents[i], axes[i]);
      const Ints& starts = begins[i];
      const auto chunk =
          starts.size() == 1
              ? Index{0}
              : std::upper_bound(starts.begin(), starts.end(), position) - starts.begin() - 1;
      positions[i] = position - starts[static_cast<std::size_t>(chunk)];
      number = number * static_cast<std::size_t>(grid[i]) + static_cast<std::size_t>(chunk);
    }
    return number;
  }
};

SourceGrid source_grid(const Splits& splits, const IndexAxes& axes) {
  SourceGrid out;
  out.axes = axes.indexed;
  for (const std::size_t axis : axes.indexed) {
    Ints begins;
    Index begin = 0;
    for (const Index extent : splits[axis]) {
      begins.push_back(begin);
      begin += extent;
    }
    out.begins.push_back(std::move(begins));
    out.extents.push_back(begin);
    out.grid.push_back(static_cast<Index>(splits[axis].size()));
  }
  return out;
}

SourceGrid source_grid(const Attributes& attributes, const IndexAxes& axes) {
  SourceGrid out;
  out.axes = axes.indexed;
  out.extents = attributes.get<Ints>("extents");
  for (const Attribute& begins : attributes.get<List>("begins")) {
    out.begins.push_back(std::get<Ints>(begins.value));
    out.grid.push_back(static_cast<Index>(out.begins.back().size()));
  }
  return out;
}

void run_gather(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const auto indices = static_cast<std::size_t>(attributes.get<std::int64_t>("indices"));
  const Array& model = context.input(indices);
  const IndexAxes axes(attributes, model.ndim());
  const SourceGrid sources = source_grid(attributes, axes);
  const Ints slots = attributes.get<Ints>("slots");
  std::vector<Array> index;
  for (std::size_t i = 0; i < indices; ++i)
    index.push_back(context.input(i).contiguous(context.memory()));
  const Index count = index.front().size();

  const Shape row = axes.of_others(model.shape());
  Array out = context.make(model.dtype(), axes.joined(row, index.front().shape()));
  const Strides& strides = out.strides();
  // The arrays' axes lie together without gaps, so they are one with this step.
  Index step = static_cast<Index>(out.item_size());
  for (std::size_t other = axes.at; other < row.size(); ++other) step *= row[other];
  Strides row_to(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(axes.at));
  row_to.insert(row_to.end(),
                strides.begin() + static_cast<std::ptrdiff_t>(axes.at + index.front().ndim()),
                strides.end());

  std::vector<std::vector<RowMove>> moves(context.inputs().size() - indices);
  Shape positions(indices);
  for (Index item = 0; item < count; ++item) {
    for (std::size_t i = 0; i < indices; ++i) positions[i] = index[i].as<std::int64_t>()[item];
    const auto slot = static_cast<std::size_t>(slots[sources.locate(positions.data())]);
    const Array& from = context.input(indices + slot);
    Index offset = 0;
    for (std::size_t i = 0; i < indices; ++i)
      offset += positions[i] * from.strides()[axes.indexed[i]];
    moves[slot].push_back({from.data() + offset, out.mutable_data() + item * step});
  }
  if (volume(row) > 0)
    for (std::size_t slot = 0; slot < moves.size(); ++slot)
      copy_rows(moves[slot], row, axes.of_others(context.input(indices + slot).strides()), row_to,
                out.item_size());
  context.set(std::move(out));
}

constexpr KernelRow kGatherKernel{
    "gather", run_gather, [](const Attributes& attributes, std::span<const Index> inputs) {
      const auto indices = static_cast<std::size_t>(attributes.get<std::int64_t>("indices"));
      std::size_t bytes = 0;
      for (std::size_t i = 0; i < indices; ++i) bytes += static_cast<std::size_t>(inputs[i]);
      return 2 * bytes;
    }};

std::vector<Meta> infer_gather(const Call& call) {
  const Tensor& x = call.inputs.front();
  const IndexAxes axes(call.attributes, x.ndim());
  return {{x.dtype(), axes.joined(axes.of_others(x.shape()), index_shape(call, 1))}};
}

/// An index cut anew; views of it if it is there already.
Tiled cut_index(TileContext& context, const Tiled& index, const Splits& cuts) {
  if (index.splits == cuts) return index;
  const Array whole = index.chunks.size() == 1 ? context.value(index.chunks.front()) : Array();
  if (!whole) return rechunk(context, index, Type::i64, cuts);
  Tiled out{cuts, {}};
  const Starts start_of_chunk(cuts);
  for_each_position(grid_of(cuts), [&](const Shape& position) {
    out.chunks.push_back(
        context.emit_ready(whole.slice(start_of_chunk(position), extents_at(cuts, position))));
  });
  return out;
}

/// The indices cut alike, so that a chunk of the result is not too large.
std::vector<Tiled> cut_indices(TileContext& context, const IndexAxes& axes) {
  const Tiled& x = context.input(0);
  Index row = static_cast<Index>(item_size(context.output().dtype));
  for (const std::size_t axis : axes.others)
    row *= std::max<Index>(1, *std::max_element(x.splits[axis].begin(), x.splits[axis].end()));
  const auto most = std::max<std::size_t>(
      1, context.options().chunk_store_limit / static_cast<std::size_t>(std::max<Index>(row, 1)));
  Splits cuts = context.input(1).splits;
  Index largest = 1;
  for (const auto& extents : cuts) largest *= *std::max_element(extents.begin(), extents.end());
  if (largest > static_cast<Index>(most))
    cuts = decide_splits(shape_of(cuts), 1, nullptr, most, "getitem");
  std::vector<Tiled> out;
  for (std::size_t i = 1; i < context.inputs(); ++i)
    out.push_back(cut_index(context, context.input(i), cuts));
  return out;
}

/// The numbers of the source chunks that an index chunk needs: those it names if it is there, else
/// all.
std::vector<std::size_t> needed_sources(const TileContext& context, const SourceGrid& sources,
                                        const std::vector<ChunkRef>& chunks) {
  const auto all = static_cast<std::size_t>(volume(sources.grid));
  std::vector<Array> index;
  for (const ChunkRef chunk : chunks) {
    index.push_back(context.value(chunk));
    if (!index.back() || index.back().size() > kLookThrough || all == 1) {
      std::vector<std::size_t> numbers(all);
      for (std::size_t i = 0; i < all; ++i) numbers[i] = i;
      return numbers;
    }
  }
  std::vector<bool> used(all, false);
  Shape positions(index.size());
  for_each_position(index.front().shape(), [&](const Shape& position) {
    for (std::size_t i = 0; i < index.size(); ++i) {
      Index offset = 0;
      for (std::size_t axis = 0; axis < position.size(); ++axis)
        offset += position[axis] * index[i].strides()[axis];
      std::memcpy(&positions[i], index[i].data() + offset, sizeof(Index));
    }
    used[sources.locate(positions.data())] = true;
  });
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < all; ++i)
    if (used[i]) numbers.push_back(i);
  if (numbers.empty()) numbers.push_back(0);
  return numbers;
}

TileResult tile_gather(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  if (const auto unknown = unknown_inputs(context); !unknown.empty())
    return context.wait_for_sizes(unknown);
  const Tiled& x = context.input(0);
  const IndexAxes axes(context.attributes(), x.splits.size());
  check_index_shapes(context, 1);
  const std::vector<Tiled> index = cut_indices(context, axes);
  const SourceGrid sources = source_grid(x.splits, axes);
  List begins;
  for (const Ints& each : sources.begins) begins.push_back({each});
  const Attributes common = {{"axes", context.attributes().ints("axes")},
                             {"at", static_cast<std::int64_t>(axes.at)},
                             {"indices", static_cast<std::int64_t>(index.size())},
                             {"begins", begins},
                             {"extents", Ints(sources.extents)}};
  const Splits other_splits = axes.of_others(x.splits);
  const Splits& cuts = index.front().splits;
  std::vector<std::vector<std::size_t>> needed;
  for (std::size_t number = 0; number < index.front().chunks.size(); ++number) {
    std::vector<ChunkRef> chunks;
    for (const Tiled& each : index) chunks.push_back(each.chunks[number]);
    needed.push_back(needed_sources(context, sources, chunks));
  }

  Tiled out{axes.joined(other_splits, cuts), {}};
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    const auto middle = position.begin() + static_cast<std::ptrdiff_t>(axes.at);
    const Shape in_index(middle, middle + static_cast<std::ptrdiff_t>(cuts.size()));
    Shape in_others(position.begin(), middle);
    in_others.insert(in_others.end(), middle + static_cast<std::ptrdiff_t>(cuts.size()),
                     position.end());
    const std::size_t number = number_of(in_index, grid_of(cuts));
    std::vector<ChunkRef> inputs;
    for (const Tiled& each : index) inputs.push_back(each.chunks[number]);
    Ints slots(static_cast<std::size_t>(volume(sources.grid)), 0);
    Index slot = 0;
    for (const std::size_t source : needed[number]) {
      slots[source] = slot++;
      Shape from(x.splits.size(), 0);
      for (std::size_t i = 0; i < axes.others.size(); ++i) from[axes.others[i]] = in_others[i];
      auto rest = static_cast<Index>(source);
      for (std::size_t i = axes.indexed.size(); i-- > 0;) {
        from[axes.indexed[i]] = rest % sources.grid[i];
        rest /= sources.grid[i];
      }
      inputs.push_back(x.at(from));
    }
    out.chunks.push_back(context.emit(kGatherKernel, common.with("slots", std::move(slots)),
                                      std::move(inputs),
                                      {context.output().dtype, extents_at(out.splits, position)}));
  });
  return out;
}

constexpr OperatorRow kGather{.name = "gather",
                              .summary = "the items at integer positions",
                              .family = Family::indexing,
                              .infer = infer_gather,
                              .tile = tile_gather};

}  // namespace

void register_gather(Registry& registry) {
  registry.add(kGather);
  registry.add(kGatherKernel);
  register_scatter(registry);
}

Tensor take(const Tensor& x, const Tensor& indices, Index axis) {
  const Index place = normal_axis(axis, x.ndim(), "take");
  const Tensor index = indices.dtype() == DType(Type::i64)
                           ? indices
                           : apply_one("astype", {indices}, {{"dtype", DType(Type::i64)}});
  return apply_one(kGather, {x, index}, {{"axes", Ints{place}}, {"at", place}});
}

}  // namespace muster::engine
