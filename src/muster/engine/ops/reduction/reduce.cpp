#include "muster/engine/ops/reduction/reduce.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"
#include "muster/engine/kernels/evaluation.h"
#include "muster/engine/ops/elementwise/elementwise.h"
#include "muster/engine/ops/elementwise/sources.h"
#include "muster/engine/ops/reduction/fold.h"
#include "muster/engine/ops/reduction/memory_order.h"
#include "muster/engine/ops/reduction/partial.h"
#include "muster/engine/ops/reduction/whole_rows.h"
#include "muster/engine/tile/unknown_inputs.h"
#include "muster/engine/value/starts.h"

namespace muster::engine {

namespace {

std::size_t form_of(const OperatorRow& row, DType input, const Attributes& attributes) {
  const auto& loops = row.reducer->loops;
  const auto* const wanted = attributes.find("dtype");
  const Type type = wanted == nullptr ? input.type : std::get<DType>(*wanted).type;
  const auto find = [&](auto fits) {
    return static_cast<std::size_t>(std::find_if(loops.begin(), loops.end(), fits) - loops.begin());
  };
  std::size_t form = loops.size();
  if (wanted != nullptr)
    form = find([&](const ReduceLoop& loop) { return loop.input == type && loop.output == type; });
  if (form == loops.size()) form = find([&](const ReduceLoop& loop) { return loop.input == type; });
  if (form == loops.size())
    wrong_type(fmt::format("[{}] is not defined for {}", row.name,
                           name(wanted != nullptr ? std::get<DType>(*wanted) : input)));
  return form;
}

const Reducer& reducer_named(const Attributes& attributes) {
  const OperatorRow* const row = registry().find_operator(attributes.get<std::string>("reducer"));
  MUSTER_ASSERT(row != nullptr && row->reducer != nullptr,
                "kernels name a reduction that there is");
  return *row->reducer;
}

const ReduceLoop& loop_named(const Attributes& attributes) {
  return reducer_named(attributes)
      .loops[static_cast<std::size_t>(attributes.get<std::int64_t>("form"))];
}

/// Of a task.
std::vector<int> reduced_axes_of(const Attributes& attributes) {
  std::vector<int> axes;
  for (const Index axis : attributes.get<Ints>("axes")) axes.push_back(static_cast<int>(axis));
  return axes;
}

/// The accumulators as results, or as bytes for the task that joins them.
void give(KernelContext& context, Partial& partial) {
  const Attributes& attributes = context.attributes();
  if (attributes.get<bool>("part", false)) {
    context.set(partial.packed());
    return;
  }
  const Reducer& reducer = reducer_named(attributes);
  const ReduceLoop& loop = loop_named(attributes);
  const auto operation = attributes.get<std::string>("reducer");
  if (reducer.needs_items && partial.items() == 0 && partial.count() > 0 &&
      !attributes.get<bool>("has_initial", false))
    wrong_value(fmt::format("[{}] there is none of no items", operation));
  const Shape shape = reduced_shape(partial.kept(), reduced_axes_of(attributes),
                                    attributes.get<bool>("keepdims", false));
  const auto count = static_cast<std::size_t>(partial.count());
  Array out = context.make(attributes.get<DType>("dtype"), shape);
  const bool direct = loop.results == loop.output;
  Array results = direct ? out : context.make(loop.results, shape);
  loop.finish(partial.data(), partial.items(), attributes.get<double>("ddof", 0.0),
              results.mutable_data(), count);
  const std::byte* const from = results.data();
  if (!direct) cast_loop(loop.results, loop.output)(&from, out.mutable_data(), count);
  if (reducer.places)
    for (Index i = 0; i < out.size(); ++i)
      if (out.as<Index>()[i] < 0) wrong_value(fmt::format("[{}] all items are NaN", operation));
  context.set(std::move(out));
}

/// From places among the reduced items of a chunk to places among all reduced items.
void place_in_whole(const Attributes& attributes, const Shape& shape,
                    const std::vector<bool>& reduced, const ReduceLoop& loop, Partial& partial) {
  const auto start = attributes.get<Ints>("start");
  const auto whole = attributes.get<Ints>("whole");
  for (Index i = 0; i < partial.count(); ++i) {
    std::byte* const at = partial.mutable_data() + static_cast<std::size_t>(i) * loop.state;
    Index place = 0;
    std::memcpy(&place, at, sizeof place);
    if (place < 0) continue;
    Index there = 0;
    Index step = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (!reduced[axis]) continue;
      there += (start[axis] + place % shape[axis]) * step;
      place /= shape[axis];
      step *= whole[axis];
    }
    std::memcpy(at, &there, sizeof there);
  }
}

/// Goes through the axes in another order than theirs.
void fold_in_order(KernelContext& context, const Program& program, const std::vector<int>& order,
                   const Shape& shape, const std::vector<bool>& reduced, const ReduceLoop& loop,
                   Partial& partial) {
  std::vector<Array> inputs;
  for (const Array& input : context.inputs())
    inputs.push_back(input.broadcast_to(shape).transposed(order));
  Shape walked;
  Shape walked_kept;
  std::vector<bool> walked_reduced;
  for (const int axis : order) {
    walked.push_back(shape[static_cast<std::size_t>(axis)]);
    walked_kept.push_back(partial.kept()[static_cast<std::size_t>(axis)]);
    walked_reduced.push_back(reduced[static_cast<std::size_t>(axis)]);
  }
  Partial side(context.memory(), loop, walked_kept);
  Evaluation evaluation(program, inputs, walked);
  fold_chunk(evaluation, walked, walked_reduced, loop, false, side.mutable_data());
  put_in_order(side.data(), partial.mutable_data(), loop.state, partial.kept(), order);
}

void run_reduce(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const ReduceLoop& loop = loop_named(attributes);
  const bool places = reducer_named(attributes).places;
  const auto program = attributes.get<std::shared_ptr<const Program>>("program");
  const Sources sources = make_sources(attributes);
  const Shape shape = common_shape(context.inputs(), attributes, "reduce");
  std::vector<bool> reduced(shape.size(), false);
  for (const Index axis : attributes.get<Ints>("axes"))
    reduced[static_cast<std::size_t>(axis)] = true;
  Shape kept = shape;
  Index items = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!reduced[axis]) continue;
    items *= shape[axis];
    kept[axis] = 1;
  }

  const std::vector<int> order = memory_order(context.inputs(), shape);
  const bool in_order = places || !sources.empty() || is_in_order(order);
  const Index row = short_row(shape, reduced);
  if (in_order && !places && row > 0 && !attributes.get<bool>("part", false)) {
    Array out = context.make(
        attributes.get<DType>("dtype"),
        reduced_shape(kept, reduced_axes_of(attributes), attributes.get<bool>("keepdims", false)));
    Evaluation evaluation(*program, context.inputs(), shape, sources);
    reduce_short_rows(evaluation, out.size(), row, loop, attributes.get<double>("ddof", 0.0),
                      out.mutable_data());
    context.set(std::move(out));
    return;
  }

  Partial partial(context.memory(), loop, kept);
  partial.set_items(items);
  if (in_order) {
    Evaluation evaluation(*program, context.inputs(), shape, sources);
    fold_chunk(evaluation, shape, reduced, loop, places, partial.mutable_data());
  } else {
    fold_in_order(context, *program, order, shape, reduced, loop, partial);
  }
  if (places) place_in_whole(attributes, shape, reduced, loop, partial);
  give(context, partial);
}
constexpr KernelRow kReduce{"reduce", run_reduce};

void run_join(KernelContext& context) {
  const ReduceLoop& loop = loop_named(context.attributes());
  const auto ndim = static_cast<std::size_t>(context.attributes().get<std::int64_t>("ndim"));
  Partial all(context.memory(), loop, Partial(context.input(0), loop, ndim).kept());
  for (const Array& input : context.inputs()) {
    const Partial part(input, loop, ndim);
    loop.join(part.data(), part.items(), all.mutable_data(), all.items(),
              static_cast<std::size_t>(all.count()));
    all.set_items(all.items() + part.items());
  }
  give(context, all);
}
constexpr KernelRow kJoin{"join", run_join};

std::shared_ptr<const Program> with_cast(const std::shared_ptr<const Program>& program,
                                         const ReduceLoop& loop) {
  Program::Builder builder;
  std::vector<std::uint16_t> inputs;
  for (const Type type : program->inputs()) inputs.push_back(builder.input(type));
  const std::uint16_t result = builder.include(*program, inputs);
  return builder.build(builder.cast(builder.cast(result, loop.input), loop.items));
}

}  // namespace

std::vector<int> reduced_axes(const Attributes& attributes, std::size_t ndim,
                              const std::string& operation) {
  if (attributes.has("axis")) {
    // As in NumPy, a single number has a first and last axis to reduce.
    if (const Ints axes = attributes.ints("axis");
        ndim == 0 && axes.size() == 1 && (axes[0] == 0 || axes[0] == -1))
      return {};
    return normal_axes(attributes.ints("axis"), ndim, operation);
  }
  std::vector<int> axes(ndim);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Shape reduced_shape(const Shape& shape, const std::vector<int>& axes, bool keepdims) {
  Shape out;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(axis)) != axes.end();
    if (!reduced)
      out.push_back(shape[axis]);
    else if (keepdims)
      out.push_back(1);
  }
  return out;
}

std::vector<Meta> infer_reduction(const Call& call) {
  refuse_fused(call);
  if (call.inputs.size() != 1)
    wrong_type(fmt::format("{}takes 1 input, not {}", call.prefix(), call.inputs.size()));
  const Meta input = call.inputs.front().meta();
  const std::string operation(call.row.name);
  const auto axes = reduced_axes(call.attributes, input.shape.size(), operation);
  const ReduceLoop& loop = call.row.reducer->loops[form_of(call.row, input.dtype, call.attributes)];
  const Shape shape =
      reduced_shape(input.shape, axes, call.attributes.get<bool>("keepdims", false));
  if (call.row.reducer->needs_items && !call.attributes.get<bool>("has_initial", false) &&
      volume(shape) != 0)
    for (const int axis : axes)
      if (input.shape[static_cast<std::size_t>(axis)] == 0)
        wrong_value(fmt::format("{}there is none of no items: axis {} of shape {} is empty",
                                call.prefix(), axis, text(input.shape)));
  return {{DType(loop.output, is_time(loop.output) ? input.dtype.unit : TimeUnit::generic), shape}};
}

namespace {

/// Joins parts `combine_size` at a time until one is left, which gives the results.
ChunkRef join_parts(TileContext& context, std::vector<ChunkRef> parts, const Attributes& join,
                    const Meta& result) {
  const auto fan_in = static_cast<std::size_t>(std::max(2, context.options().combine_size));
  while (parts.size() > 1) {
    std::vector<ChunkRef> next;
    const bool last = parts.size() <= fan_in;
    for (std::size_t at = 0; at < parts.size(); at += fan_in) {
      std::vector<ChunkRef> group(
          parts.begin() + static_cast<std::ptrdiff_t>(at),
          parts.begin() + static_cast<std::ptrdiff_t>(std::min(at + fan_in, parts.size())));
      const Meta part = context.meta(group.front());
      next.push_back(
          context.emit(kJoin, join.with("part", !last), std::move(group), last ? result : part));
    }
    parts = std::move(next);
  }
  return parts.front();
}

std::shared_ptr<const Program> program_before(const TileContext& context) {
  if (const auto* fused = context.attributes().find("program"))
    return std::get<std::shared_ptr<const Program>>(*fused);
  Program::Builder builder;
  return builder.build(builder.input(context.input_meta(0).dtype.type));
}

}  // namespace

TileResult tile_reduction(TileContext& context) {
  const std::vector<std::size_t> unknown = unknown_inputs(context);
  const Reducer& reducer = *context.row().reducer;
  if (reducer.places && !unknown.empty()) return context.wait_for_sizes(unknown);
  std::optional<Aligned> aligned = align(context);
  if (!aligned) return context.wait_for_sizes(unknown);
  if (aligned->inputs.size() == 1 && aligned->inputs.front().splits == aligned->splits) {
    aligned->inputs.front() = in_whole_rows(context, aligned->inputs.front());
    aligned->splits = aligned->inputs.front().splits;
  }

  const std::string operation(context.row().name);
  const std::size_t ndim = aligned->splits.size();
  const auto axes = reduced_axes(context.attributes(), ndim, operation);
  const bool keepdims = context.attributes().get<bool>("keepdims", false);
  auto program = program_before(context);
  const std::size_t form =
      form_of(context.row(), DType(program->type_of(program->result())), context.attributes());
  const ReduceLoop& loop = reducer.loops[form];
  program = with_cast(program, loop);
  const DType dtype = context.output().dtype;

  // The grid of results, and of the partial results that go into each.
  Splits out_splits;
  Shape kept_grid;
  Shape reduced_grid;
  for (std::size_t axis = 0; axis < ndim; ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(axis)) != axes.end();
    const auto chunks = static_cast<Index>(aligned->splits[axis].size());
    kept_grid.push_back(reduced ? 1 : chunks);
    reduced_grid.push_back(reduced ? chunks : 1);
    if (!reduced)
      out_splits.push_back(aligned->splits[axis]);
    else if (keepdims)
      out_splits.push_back({1});
  }
  const Attributes base = {{"reducer", operation},
                           {"dtype", dtype},
                           {"form", static_cast<std::int64_t>(form)},
                           {"axes", Ints(axes.begin(), axes.end())},
                           {"keepdims", keepdims},
                           {"ddof", context.attributes().get<double>("ddof", 0.0)},
                           {"has_initial", context.attributes().get<bool>("has_initial", false)}};
  const bool whole = volume(reduced_grid) == 1;
  const Attributes reduce = base.with("program", program).with("part", !whole);
  const Attributes join = base.with("ndim", static_cast<std::int64_t>(ndim));

  Tiled out{out_splits, {}};
  const Starts start_of_chunk(aligned->splits);
  const SourcePlaces places(context.attributes(), aligned->splits);
  for_each_position(kept_grid, [&](const Shape& kept) {
    std::vector<ChunkRef> parts;
    const Shape extents = extents_at(aligned->splits, kept);
    const Meta result{dtype, reduced_shape(extents, axes, keepdims)};
    const Meta part{Type::u8, {Partial::byte_count(loop, reduced_shape(extents, axes, true))}};
    for_each_position(reduced_grid, [&](const Shape& offset) {
      Shape position = kept;
      for (std::size_t axis = 0; axis < ndim; ++axis) position[axis] += offset[axis];
      Attributes own = places.at(reduce, position);
      if (reducer.places)
        own = own.with("start", Ints(start_of_chunk(position)))
                  .with("whole", Ints(shape_of(aligned->splits)));
      parts.push_back(
          context.emit(kReduce, std::move(own), aligned->at(position), whole ? result : part));
    });
    out.chunks.push_back(join_parts(context, std::move(parts), join, result));
  });
  return out;
}

DType reduced_dtype(std::string_view name, DType input, const Attributes& attributes) {
  const OperatorRow& row = *registry().find_operator(name);
  const ReduceLoop& loop = row.reducer->loops[form_of(row, input, attributes)];
  return {loop.output, is_time(loop.output) ? input.unit : TimeUnit::generic};
}

ChunkRef emit_reduction(TileContext& context, const std::string& name, DType dtype, ChunkRef chunk,
                        int axis) {
  const Meta input = context.meta(chunk);
  const Attributes asked = {{"dtype", dtype}};
  const OperatorRow& row = *registry().find_operator(name);
  const std::size_t form = form_of(row, input.dtype, asked);
  Program::Builder builder;
  const auto program =
      with_cast(builder.build(builder.input(input.dtype.type)), row.reducer->loops[form]);
  return context.emit(kReduce,
                      {{"reducer", name},
                       {"dtype", dtype},
                       {"form", static_cast<std::int64_t>(form)},
                       {"axes", Ints{axis}},
                       {"keepdims", true},
                       {"program", program}},
                      {chunk}, {dtype, reduced_shape(input.shape, {axis}, true)});
}

OperatorRow reduction_row(std::string_view name, std::string_view summary, const Reducer& reducer) {
  return {.name = name,
          .summary = summary,
          .family = Family::reduction,
          .infer = infer_reduction,
          .tile = tile_reduction,
          .reducer = &reducer};
}

void register_reduce_kernels(Registry& registry) {
  registry.add(kReduce);
  registry.add(kJoin);
}

}  // namespace muster::engine
