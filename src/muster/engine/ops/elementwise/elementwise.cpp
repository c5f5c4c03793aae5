#include "muster/engine/ops/elementwise/elementwise.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"
#include "muster/engine/kernels/evaluation.h"
#include "muster/engine/kernels/time_units.h"
#include "muster/engine/ops/elementwise/sources.h"
#include "muster/engine/ops/elementwise/ufunc_row.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/unknown_inputs.h"

namespace muster::engine {

namespace {

std::string types_text(const std::vector<DType>& inputs) {
  std::vector<std::string> names;
  for (const DType input : inputs) names.push_back(name(input));
  return fmt::format("{}", fmt::join(names, " and "));
}

bool fits(const LoopRow& loop, const std::vector<DType>& inputs, Casting casting) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!can_cast(DType(inputs[i].type), DType(loop.inputs[i]), casting) &&
        !(is_integer(inputs[i].type) && loop.inputs[i] == Type::timedelta))
      return false;
  return true;
}

std::size_t loop_for(const OperatorRow& row, const std::vector<DType>& inputs,
                     const Attributes& attributes) {
  const auto& loops = row.ufunc->loops;
  if (const auto* wanted = attributes.find("dtype")) {
    const DType dtype = std::get<DType>(*wanted);
    for (std::size_t form = 0; form < loops.size(); ++form)
      if (loops[form].output == dtype.type && fits(loops[form], inputs, Casting::same_kind))
        return form;
    wrong_type(fmt::format("[{}] there is no form of it that makes {} of {}", row.name, name(dtype),
                           types_text(inputs)));
  }
  for (std::size_t form = 0; form < loops.size(); ++form)
    if (fits(loops[form], inputs, Casting::safe)) return form;
  wrong_type(fmt::format("[{}] is not defined for {}", row.name, types_text(inputs)));
}

/// What a function computes in, and what comes out.
struct Form {
  std::size_t loop;
  std::vector<DType> inputs;
  DType output;
};

/// Times are brought to the finest unit among them.
Form form_of(const OperatorRow& row, const std::vector<DType>& inputs,
             const Attributes& attributes) {
  if (row.ufunc->loops.empty()) {
    const auto to = attributes.get<DType>("dtype");
    return {0, {to}, to};
  }
  const std::size_t number = loop_for(row, inputs, attributes);
  const LoopRow& loop = row.ufunc->loops[number];
  TimeUnit unit = TimeUnit::generic;
  for (const DType input : inputs) unit = std::max(unit, input.unit);
  const auto with_unit = [unit](Type type) {
    return DType(type, is_time(type) ? unit : TimeUnit::generic);
  };
  Form form{number, {}, with_unit(loop.output)};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    form.inputs.push_back(with_unit(loop.inputs[i]));
    check_units(inputs[i], form.inputs[i], row.name);
  }
  return form;
}

/// The memory of an input that nobody else reads, if it is just what the result needs: blocks are
/// read before they are written.
Array room_for_result(KernelContext& context, DType dtype, const Shape& shape) {
  for (const Array& input : context.inputs())
    if (input.dtype() == dtype && input.shape() == shape && input.is_sole() &&
        input.is_c_contiguous())
      return input;
  return context.make(dtype, shape);
}

void run_elementwise(KernelContext& context) {
  const auto program = context.attributes().get<std::shared_ptr<const Program>>("program");
  const auto dtype = context.attributes().get<DType>("dtype");
  const Sources sources = make_sources(context.attributes());
  const Shape shape = common_shape(context.inputs(), context.attributes(), "elementwise");
  Array out = room_for_result(context, dtype, shape);
  Evaluation evaluation(*program, context.inputs(), shape, sources);
  const auto size = static_cast<Index>(out.item_size());
  for (Index begin = 0, count = 0; begin < out.size(); begin += count) {
    count = evaluation.next(begin, out.size() - begin);
    (void)evaluation.block(begin, count, out.mutable_data() + begin * size);
  }
  context.set(std::move(out));
}

constexpr KernelRow kElementwise{"elementwise", run_elementwise};

}  // namespace

const KernelRow& elementwise_kernel() { return kElementwise; }

void refuse_fused(const Call& call) {
  for (const auto* name : {"program", "sources"})
    if (call.attributes.has(name))
      wrong_value(fmt::format("{}there is no parameter '{}'", call.prefix(), name));
}

std::vector<Meta> infer_elementwise(const Call& call) {
  refuse_fused(call);
  std::vector<DType> types;
  std::vector<Shape> shapes;
  for (const Tensor& input : call.inputs) {
    types.push_back(input.dtype());
    shapes.push_back(input.shape());
  }
  if (types.size() != call.row.ufunc->inputs)
    wrong_type(fmt::format("{}takes {} inputs, not {}", call.prefix(), call.row.ufunc->inputs,
                           types.size()));
  return {{form_of(call.row, types, call.attributes).output,
           broadcast(shapes, std::string(call.row.name))}};
}

std::shared_ptr<const Program> program_of(const OperatorRow& row, const Attributes& attributes,
                                          const std::vector<DType>& inputs) {
  if (const auto* fused = attributes.find("program"))
    return std::get<std::shared_ptr<const Program>>(*fused);
  Program::Builder builder;
  std::vector<std::uint16_t> values;
  for (const DType dtype : inputs) values.push_back(builder.input(dtype.type));
  const Form form = form_of(row, inputs, attributes);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = convert(builder, values[i], inputs[i], form.inputs[i]);
  if (row.ufunc->loops.empty()) return builder.build(values.front());
  return builder.build(builder.step(row.name, *row.ufunc, form.loop, values));
}

std::vector<ChunkRef> Aligned::at(const Shape& position) const {
  std::vector<ChunkRef> chunks;
  for (const Tiled& input : inputs) {
    const std::size_t missing = position.size() - input.splits.size();
    Shape own;
    for (std::size_t axis = 0; axis < input.splits.size(); ++axis)
      own.push_back(input.splits[axis].size() == 1 ? 0 : position[axis + missing]);
    chunks.push_back(input.at(own));
  }
  return chunks;
}

std::optional<Aligned> align(TileContext& context) {
  Aligned out;
  const std::vector<Splits> of_sources = source_splits(context);
  std::vector<const Splits*> all;
  for (std::size_t i = 0; i < context.inputs(); ++i) all.push_back(&context.input(i).splits);
  for (const Splits& splits : of_sources) all.push_back(&splits);
  std::size_t ndim = 0;
  for (const Splits* splits : all) ndim = std::max(ndim, splits->size());
  const std::vector<Index> one = {1};
  out.splits.assign(ndim, one);
  for (std::size_t axis = 0; axis < ndim; ++axis) {
    auto& common = out.splits[axis];
    for (const Splits* each : all) {
      const Splits& splits = *each;
      const std::size_t missing = ndim - splits.size();
      if (axis < missing || splits[axis - missing] == one) continue;
      const auto& extents = splits[axis - missing];
      if (common == one || common == extents) {
        common = extents;
      } else if (is_known(common) && is_known(extents)) {
        common = common_split(common, extents);
      } else if (common.size() != extents.size()) {
        return std::nullopt;
      } else if (!is_known(common)) {
        common = extents;
      }
    }
  }
  // Sources know where their chunks lie.
  if (!of_sources.empty() && !is_known(shape_of(out.splits))) return std::nullopt;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    const Tiled& input = context.input(i);
    const std::size_t missing = ndim - input.splits.size();
    Splits target = input.splits;
    for (std::size_t axis = 0; axis < target.size(); ++axis)
      if (target[axis] != one && target[axis].size() != out.splits[axis + missing].size())
        target[axis] = out.splits[axis + missing];
      else if (target[axis] != one && is_known(target[axis]) &&
               is_known(out.splits[axis + missing]))
        target[axis] = out.splits[axis + missing];
    if (target == input.splits)
      out.inputs.push_back(input);
    else if (context.knows(i))
      out.inputs.push_back(rechunk(context, input, context.input_meta(i).dtype, target));
    else
      return std::nullopt;
  }
  return out;
}

TileResult tile_elementwise(TileContext& context) {
  const std::optional<Aligned> aligned = align(context);
  if (!aligned) {
    return context.wait_for_sizes(unknown_inputs(context));
  }
  std::vector<DType> types;
  for (std::size_t i = 0; i < context.inputs(); ++i) types.push_back(context.input_meta(i).dtype);
  const DType dtype = context.output().dtype;
  const Attributes attributes = {
      {"program", program_of(context.row(), context.attributes(), types)}, {"dtype", dtype}};
  const SourcePlaces places(context.attributes(), aligned->splits);
  Tiled out{aligned->splits, {}};
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    out.chunks.push_back(context.emit(kElementwise, places.at(attributes, position),
                                      aligned->at(position),
                                      {dtype, extents_at(out.splits, position)}));
  });
  return out;
}

namespace {
const Ufunc kFusedUfunc{0, {}};
const OperatorRow kFused{
    .name = "fused",
    .summary = "a chain of element-wise operators in one pass over memory",
    .family = Family::elementwise,
    .infer = [](const Call& call) -> std::vector<Meta> {
      wrong_value(call.prefix() + "is made by the optimiser only");
    },
    .tile = tile_elementwise,
    .ufunc = &kFusedUfunc,
};
}  // namespace

const OperatorRow& fused_row() { return kFused; }

void register_elementwise(Registry& registry) {
  registry.add(kFused);
  registry.add(kElementwise);
}

UfuncTable::UfuncTable(std::vector<UfuncRow> ufuncs) : ufuncs_(std::move(ufuncs)) {
  for (const UfuncRow& each : ufuncs_)
    rows_.push_back(elementwise_row(each.name, each.summary, each.ufunc));
}

void UfuncTable::add_to(Registry& registry) const {
  for (const OperatorRow& row : rows_) registry.add(row);
}

OperatorRow elementwise_row(std::string_view name, std::string_view summary, const Ufunc& ufunc) {
  return {.name = name,
          .summary = summary,
          .family = Family::elementwise,
          .infer = infer_elementwise,
          .tile = tile_elementwise,
          .ufunc = &ufunc};
}

}  // namespace muster::engine
