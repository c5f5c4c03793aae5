#include "muster/engine/ops/indexing/scatter.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/indexing/copy_rows.h"
#include "muster/engine/ops/indexing/index_axes.h"
#include "muster/engine/ops/indexing/writable_input.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/unknown_inputs.h"
#include "muster/engine/value/starts.h"

namespace muster::engine {

Shape index_shape(const Call& call, std::size_t first) {
  const std::size_t axes = call.attributes.ints("axes").size();
  if (axes == 0 || call.inputs.size() != first + axes)
    wrong_index(fmt::format("{}there are {} index arrays for {} axes", call.prefix(),
                            call.inputs.size() - std::min(first, call.inputs.size()), axes));
  const Shape shape = call.inputs[first].shape();
  for (std::size_t i = first; i < call.inputs.size(); ++i) {
    if (call.inputs[i].dtype() != DType(Type::i64))
      wrong_index(fmt::format("{}indices must be integers (int64), not {}", call.prefix(),
                              name(call.inputs[i].dtype())));
    const Shape other = call.inputs[i].shape();
    if (other.size() != shape.size() || (is_known(shape) && is_known(other) && shape != other))
      wrong_index(fmt::format("{}index arrays have different shapes: {} and {}", call.prefix(),
                              text(shape), text(other)));
  }
  return shape;
}

void check_index_shapes(const TileContext& context, std::size_t first) {
  const Shape& shape = context.input_meta(first).shape;
  for (std::size_t i = first; i < context.inputs(); ++i)
    if (context.input_meta(i).shape != shape)
      wrong_index(fmt::format("[getitem] index arrays have different shapes: {} and {}",
                              text(shape), text(context.input_meta(i).shape)));
}

namespace {

void run_scatter(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  Array out = writable_input(context, 0);
  const Array& value = context.input(1);
  const IndexAxes axes(attributes, out.ndim());
  const Ints first = attributes.get<Ints>("first");
  const Ints extents = attributes.get<Ints>("extents");
  std::vector<Array> index;
  for (std::size_t i = 2; i < context.inputs().size(); ++i)
    index.push_back(context.input(i).contiguous(context.memory()));
  const Array values = value.contiguous(context.memory());
  const Shape row = axes.of_others(out.shape());
  Index step = static_cast<Index>(values.item_size());
  for (std::size_t other = axes.at; other < row.size(); ++other) step *= row[other];
  const Strides& strides = values.strides();
  Strides row_from(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(axes.at));
  row_from.insert(row_from.end(),
                  strides.begin() + static_cast<std::ptrdiff_t>(axes.at + index.front().ndim()),
                  strides.end());
  std::vector<RowMove> moves;
  for (Index item = 0; item < index.front().size(); ++item) {
    Index offset = 0;
    bool here = true;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::size_t axis = axes.indexed[i];
      const Index local =
          normal_index(index[i].as<std::int64_t>()[item], extents[i], axis) - first[i];
      here = here && local >= 0 && local < out.shape()[axis];
      offset += local * out.strides()[axis];
    }
    if (here) moves.push_back({values.data() + item * step, out.mutable_data() + offset});
  }
  if (volume(row) > 0)
    copy_rows(moves, row, row_from, axes.of_others(out.strides()), out.item_size());
  context.set(std::move(out));
}
constexpr KernelRow kScatterKernel{"scatter", run_scatter};

void check_value(const Shape& expected, const Shape& value) {
  bool fits = expected.size() == value.size();
  for (std::size_t axis = 0; fits && axis < value.size(); ++axis)
    fits = expected[axis] == value[axis] || expected[axis] == kUnknown || value[axis] == kUnknown;
  if (!fits)
    wrong_value(fmt::format("[setitem] the index selects shape {}, the new items have {}",
                            text(expected), text(value)));
}

std::vector<Meta> infer_scatter(const Call& call) {
  const Tensor& x = call.inputs.front();
  const IndexAxes axes(call.attributes, x.ndim());
  check_value(axes.joined(axes.of_others(x.shape()), index_shape(call, 2)), call.inputs[1].shape());
  if (call.inputs[1].dtype() != x.dtype())
    wrong_type(fmt::format("{}the items are {}, the new ones {}", call.prefix(), name(x.dtype()),
                           name(call.inputs[1].dtype())));
  return {x.meta()};
}

TileResult tile_scatter(TileContext& context) {
  if (const auto unknown = unknown_inputs(context); !unknown.empty())
    return context.wait_for_sizes(unknown);
  const Tiled& x = context.input(0);
  const DType dtype = context.output().dtype;
  const IndexAxes axes(context.attributes(), x.splits.size());
  check_index_shapes(context, 2);
  const Shape index_extents = context.input_meta(2).shape;
  check_value(axes.joined(axes.of_others(context.input_meta(0).shape), index_extents),
              context.input_meta(1).shape);
  Splits whole;
  for (const Index extent : index_extents) whole.push_back({extent});
  std::vector<ChunkRef> index;
  for (std::size_t i = 2; i < context.inputs(); ++i)
    index.push_back(rechunk(context, context.input(i), Type::i64, whole).chunks.front());
  const Tiled value =
      rechunk(context, context.input(1), dtype, axes.joined(axes.of_others(x.splits), whole));
  Ints extents;
  for (const std::size_t axis : axes.indexed) extents.push_back(context.input_meta(0).shape[axis]);

  Tiled out{x.splits, {}};
  const Starts start_of_chunk(x.splits);
  for_each_position(grid_of(x.splits), [&](const Shape& position) {
    const Shape starts = start_of_chunk(position);
    Ints first;
    for (const std::size_t axis : axes.indexed) first.push_back(starts[axis]);
    const ChunkRef chunk = x.at(position);
    std::vector<ChunkRef> inputs = {
        chunk, value.at(axes.joined(axes.of_others(position), Shape(whole.size(), 0)))};
    inputs.insert(inputs.end(), index.begin(), index.end());
    out.chunks.push_back(context.emit(kScatterKernel,
                                      {{"axes", context.attributes().ints("axes")},
                                       {"at", static_cast<std::int64_t>(axes.at)},
                                       {"first", first},
                                       {"extents", extents}},
                                      std::move(inputs), context.meta(chunk)));
  });
  return out;
}

constexpr OperatorRow kScatter{.name = "scatter",
                               .summary = "with other items at integer positions",
                               .family = Family::indexing,
                               .infer = infer_scatter,
                               .tile = tile_scatter};

}  // namespace

void register_scatter(Registry& registry) {
  registry.add(kScatter);
  registry.add(kScatterKernel);
}

}  // namespace muster::engine
