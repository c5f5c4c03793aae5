#include "muster/engine/ops/shape/reshape.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/creation/full.h"
#include "muster/engine/ops/shape/axes.h"
#include "muster/engine/ops/shape/flat_cuts.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

constexpr KernelRow kReshapeKernel{
    "reshape", [](KernelContext& context) {
      context.set(
          context.input(0).reshaped(context.memory(), context.attributes().get<Ints>("shape")));
    }};

/// The shape with its -1 filled in; throws if it does not have as many items.
Shape filled(const Shape& from, Shape to) {
  const Index items = volume(from);
  const auto open = std::find(to.begin(), to.end(), Index{-1});
  const auto refuse = [&] {
    wrong_value(fmt::format("[reshape] an array of shape {} cannot become {}", text(from),
                            fmt::format("({})", fmt::join(to, ", "))));
  };
  if (std::count(to.begin(), to.end(), Index{-1}) > 1)
    wrong_value("[reshape] only one extent can be left to be found (-1)");
  if (std::any_of(to.begin(), to.end(), [](Index extent) { return extent < -1; })) refuse();
  if (open == to.end()) {
    if (volume(to) != items) refuse();
    return to;
  }
  Index others = 1;
  for (const Index extent : to)
    if (extent != -1) others *= extent;
  if (others == 0 || items % others != 0) refuse();
  *open = items / others;
  return to;
}

std::vector<Meta> infer_reshape(const Call& call) {
  const Tensor& x = call.inputs.front();
  const Shape shape = call.attributes.ints("shape");
  static_assert(kUnknown == -1, "an extent that is left open is not known yet");
  if (!is_known(x.shape())) return {{x.dtype(), shape}};
  return {{x.dtype(), filled(x.shape(), shape)}};
}

Tiled reshape_chunks(TileContext& context, const Tiled& in, Splits splits) {
  Tiled out{std::move(splits), {}};
  std::size_t number = 0;
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    const ChunkRef chunk = in.chunks[number++];
    const Shape extents = extents_at(out.splits, position);
    const DType dtype = context.meta(chunk).dtype;
    if (context.meta(chunk).shape == extents)
      out.chunks.push_back(chunk);
    else
      out.chunks.push_back(
          context.emit(kReshapeKernel, {{"shape", Ints(extents)}}, {chunk}, {dtype, extents}));
  });
  return out;
}

/// How the axes of one group are cut: before, as one flat axis before and after, and after.
struct GroupCuts {
  Splits from;
  std::vector<Index> runs;
  std::vector<Index> new_runs;
  Splits to;
};

GroupCuts cut_group(const Splits& from, const Shape& to) {
  GroupCuts out{from, {}, {}, {}};
  Index items = 1;
  for (const auto& extents : from) items *= *std::max_element(extents.begin(), extents.end());
  if (auto runs = flatten_cuts(from)) {
    out.runs = std::move(*runs);
  } else {
    out.from = choose_flat_cuts(shape_of(from), items);
    out.runs = *flatten_cuts(out.from);
  }
  out.new_runs = out.runs;
  if (auto splits = unflatten_cuts(out.runs, to)) {
    out.to = std::move(*splits);
  } else {
    out.to = choose_flat_cuts(to, items);
    out.new_runs = *flatten_cuts(out.to);
  }
  return out;
}

TileResult tile_reshape(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const Tiled& in = context.input(0);
  const Shape from = context.input_meta(0).shape;
  const Shape to = filled(from, context.attributes().ints("shape"));
  const DType dtype = context.output().dtype;
  if (volume(from) == 0) {
    Tiled out{
        {},
        {context.emit(full_kernel(), {{"value", Scalar(false).cast(dtype)}, {"shape", Ints(to)}},
                      {}, {dtype, to})}};
    for (const Index extent : to) out.splits.push_back({extent});
    return out;
  }
  Splits cut;
  Splits runs;
  Splits new_runs;
  Splits new_cut;
  for (const AxisGroup& group : group_axes(from, to)) {
    Splits own;
    Shape wanted;
    for (const std::size_t axis : group.from) own.push_back(in.splits[axis]);
    for (const std::size_t axis : group.to) wanted.push_back(to[axis]);
    GroupCuts cuts = cut_group(own, wanted);
    cut.insert(cut.end(), cuts.from.begin(), cuts.from.end());
    new_cut.insert(new_cut.end(), cuts.to.begin(), cuts.to.end());
    runs.push_back(std::move(cuts.runs));
    new_runs.push_back(std::move(cuts.new_runs));
  }
  Tiled tiled = rechunk(context, in, dtype, cut);
  if (runs != new_runs)
    tiled = rechunk(context, reshape_chunks(context, tiled, runs), dtype, new_runs);
  return reshape_chunks(context, tiled, std::move(new_cut));
}

constexpr OperatorRow kReshapeRow{.name = "reshape_c",
                                  .summary = "the items in C order as another shape",
                                  .family = Family::shape,
                                  .infer = infer_reshape,
                                  .tile = tile_reshape};

constexpr OperatorRow kReshape{.name = "reshape",
                               .summary = "the items in order as another shape",
                               .family = Family::shape,
                               .expand = [](const Call& call) -> std::vector<Tensor> {
                                 const Tensor& x = call.inputs.front();
                                 Shape shape = call.attributes.ints("shape");
                                 if (call.attributes.get<std::string>("order", "C") != "F")
                                   return {reshape(x, shape)};
                                 std::reverse(shape.begin(), shape.end());
                                 return {transpose(reshape(transpose(x), shape))};
                               }};

}  // namespace

void register_reshape(Registry& registry) {
  registry.add(kReshapeRow);
  registry.add(kReshapeKernel);
  registry.add(kReshape);
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  if (is_known(x.shape()) && x.shape() == shape) return x;
  return apply_one(kReshapeRow, {x}, {{"shape", Ints(shape)}});
}

}  // namespace muster::engine
