#include "muster/engine/ops/python/call_function.h"

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/python/function_kernel.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/tile_context.h"
#include "muster/engine/tile/unknown_inputs.h"

namespace muster::engine {

namespace {

std::vector<Meta> infer_call(const Call& call) {
  const std::vector<DType> dtypes = dtypes_of(call.attributes);
  const auto shapes = call.attributes.get<List>("shapes");
  if (shapes.size() != dtypes.size())
    wrong_type(fmt::format("{}there are {} dtypes and {} shapes", call.prefix(), dtypes.size(),
                           shapes.size()));
  std::vector<Meta> metas;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    const auto* const shape = std::get_if<Ints>(&shapes[i].value);
    if (shape == nullptr) wrong_type(call.prefix() + "a shape is a list of whole numbers");
    metas.push_back({dtypes[i], *shape});
  }
  return metas;
}

/// The whole tensor as one chunk. Its size need not be known where it is one already.
ChunkRef whole_input(TileContext& context, std::size_t number) {
  const Tiled& input = context.input(number);
  if (input.chunks.size() == 1) return input.chunks.front();
  Splits whole;
  for (const Index extent : shape_of(input.splits)) whole.push_back({extent});
  return rechunk(context, input, context.input_meta(number).dtype, whole).chunks.front();
}

TileResult tile_call(TileContext& context) {
  std::vector<std::size_t> unknown = unknown_inputs(context);
  std::erase_if(unknown, [&](std::size_t i) { return context.input(i).chunks.size() == 1; });
  if (!unknown.empty()) return context.wait_for_sizes(unknown);
  std::vector<ChunkRef> inputs;
  for (std::size_t i = 0; i < context.inputs(); ++i) inputs.push_back(whole_input(context, i));
  std::vector<Meta> metas;
  std::vector<Tiled> outputs;
  for (std::size_t output = 0; output < context.outputs(); ++output) {
    metas.push_back(context.output(output));
    Splits splits;
    for (const Index extent : metas.back().shape) splits.push_back({extent});
    outputs.push_back({std::move(splits), {}});
  }
  Attributes attributes = {{"function", context.attributes().value("function")},
                           {"dtypes", context.attributes().value("dtypes")}};
  // The kernel checks one shape for all results.
  if (metas.size() == 1 && is_known(metas.front().shape))
    attributes = attributes.with("shape", Ints(metas.front().shape));
  const std::uint32_t task =
      context.emit_many(function_kernel(), attributes, std::move(inputs), std::move(metas));
  for (std::uint32_t output = 0; output < outputs.size(); ++output)
    outputs[output].chunks.push_back({task, output});
  return outputs;
}

constexpr OperatorRow kCall{.name = "call_function",
                            .summary = "a function of the user on whole tensors",
                            .family = Family::other,
                            .infer = infer_call,
                            .tile = tile_call,
                            .effects = true,
                            .through_python = true};

std::vector<Meta> infer_pairs(const Call& call) {
  if (call.inputs.size() != 2 || call.inputs[0].ndim() != 2 || call.inputs[1].ndim() != 2)
    wrong_value(call.prefix() + "takes two matrices");
  const auto dtypes = dtypes_of(call.attributes);
  if (dtypes.size() != 1) wrong_value(call.prefix() + "gives one result");
  return {{dtypes.front(), {call.inputs[0].shape().front(), call.inputs[1].shape().front()}}};
}

TileResult tile_pairs(TileContext& context) {
  if (const auto unknown = unknown_inputs(context); !unknown.empty())
    return context.wait_for_sizes(unknown);
  std::array<Tiled, 2> rows;
  for (std::size_t i = 0; i < 2; ++i) {
    const Splits& splits = context.input(i).splits;
    const Splits target = {splits[0], {shape_of(splits)[1]}};
    rows[i] = rechunk(context, context.input(i), context.input_meta(i).dtype, target);
  }
  const DType dtype = context.output().dtype;
  Tiled out{{rows[0].splits[0], rows[1].splits[0]}, {}};
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    const Shape extents = extents_at(out.splits, position);
    const Attributes attributes = {{"function", context.attributes().value("function")},
                                   {"dtypes", context.attributes().value("dtypes")},
                                   {"shape", Ints(extents)}};
    out.chunks.push_back(context.emit(function_kernel(), attributes,
                                      {rows[0].at({position[0], 0}), rows[1].at({position[1], 0})},
                                      {dtype, extents}));
  });
  return out;
}

constexpr OperatorRow kPairs{.name = "map_pairs",
                             .summary = "a function of the user on pairs of chunks of rows",
                             .family = Family::other,
                             .infer = infer_pairs,
                             .tile = tile_pairs,
                             .effects = true,
                             .through_python = true};

}  // namespace

void register_call_function(Registry& registry) {
  registry.add(kCall);
  registry.add(kPairs);
}

}  // namespace muster::engine
