#include "muster/engine/ops/indexing/choose.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/elementwise/elementwise.h"
#include "muster/engine/ops/indexing/copy_rows.h"
#include "muster/engine/tile/unknown_inputs.h"

namespace muster::engine {

namespace {

Index choice_of(Index number, Index choices, const std::string& mode) {
  if (number >= 0 && number < choices) return number;
  if (mode == "clip") return number < 0 ? 0 : choices - 1;
  if (mode == "wrap") return (number % choices + choices) % choices;
  wrong_value(fmt::format("[choose] {} is not the number of one of {} choices", number, choices));
}

void run_choose(KernelContext& context) {
  const std::string mode = context.attributes().get<std::string>("mode", "raise");
  std::vector<Shape> shapes;
  for (const Array& input : context.inputs()) shapes.push_back(input.shape());
  const Shape shape = broadcast(shapes, "choose");
  Array out = context.make(context.input(1).dtype(), shape);
  std::vector<Strides> strides = {out.strides()};
  std::vector<std::byte*> pointers = {out.mutable_data()};
  for (const Array& input : context.inputs()) {
    const Array seen = input.broadcast_to(shape);
    strides.push_back(seen.strides());
    pointers.push_back(const_cast<std::byte*>(seen.data()));
  }
  const bool is_mask = context.input(0).dtype() == DType(Type::b1);
  const auto choices = static_cast<Index>(context.inputs().size()) - 1;
  const Walk walk(shape, strides);
  const std::vector<Index>& steps = walk.steps();
  const std::size_t size = out.item_size();
  walk(std::move(pointers), [&](std::byte* const* at, Index count) {
    for (Index i = 0; i < count; ++i) {
      const std::byte* const where = at[1] + i * steps[1];
      Index number = 0;
      if (is_mask)
        number = *reinterpret_cast<const bool*>(where) ? 1 : 0;
      else
        std::memcpy(&number, where, sizeof number);
      const auto from = static_cast<std::size_t>(choice_of(number, choices, mode)) + 2;
      copy_item(at[0] + i * steps[0], at[from] + i * steps[from], size);
    }
  });
  context.set(std::move(out));
}
constexpr KernelRow kChooseKernel{"choose", run_choose};

std::vector<Meta> infer_choose(const Call& call) {
  if (call.inputs.size() < 2) wrong_value(call.prefix() + "needs something to choose from");
  const DType numbers = call.inputs.front().dtype();
  if (numbers != DType(Type::i64) && numbers != DType(Type::b1))
    wrong_type(call.prefix() + "the numbers must be int64 or bool, not " + name(numbers));
  std::vector<Shape> shapes;
  for (const Tensor& input : call.inputs) shapes.push_back(input.shape());
  for (std::size_t i = 2; i < call.inputs.size(); ++i)
    if (call.inputs[i].dtype() != call.inputs[1].dtype())
      wrong_type(fmt::format("{}the choices are {} and {}", call.prefix(),
                             name(call.inputs[1].dtype()), name(call.inputs[i].dtype())));
  return {{call.inputs[1].dtype(), broadcast(shapes, "choose")}};
}

TileResult tile_choose(TileContext& context) {
  const std::optional<Aligned> aligned = align(context);
  if (!aligned) {
    return context.wait_for_sizes(unknown_inputs(context));
  }
  Tiled out{aligned->splits, {}};
  const Attributes attributes = {{"mode", context.attributes().get<std::string>("mode", "raise")}};
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    out.chunks.push_back(context.emit(kChooseKernel, attributes, aligned->at(position),
                                      {context.output().dtype, extents_at(out.splits, position)}));
  });
  return out;
}

constexpr OperatorRow kChoose{
    .name = "choose",
    .summary = "at each place an item of the tensor whose number stands there",
    .family = Family::indexing,
    .infer = infer_choose,
    .tile = tile_choose};

}  // namespace

void register_choose(Registry& registry) {
  registry.add(kChoose);
  registry.add(kChooseKernel);
}

Tensor choose(const Tensor& numbers, const std::vector<Tensor>& choices) {
  std::vector<Tensor> inputs = {numbers};
  inputs.insert(inputs.end(), choices.begin(), choices.end());
  return apply_one(kChoose, std::move(inputs));
}

}  // namespace muster::engine
