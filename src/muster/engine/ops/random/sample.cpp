#include "muster/engine/ops/random/sample.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/kernels/source.h"
#include "muster/engine/kernels/ufunc.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/random/distribution.h"
#include "muster/engine/ops/random/places.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/tile_context.h"
#include "muster/engine/tile/unknown_inputs.h"
#include "muster/engine/value/starts.h"

namespace muster::engine::random {

namespace {

Array cast_items(Memory& memory, const Array& array, Type type) {
  if (array.dtype().type == type) return array;
  Array out(memory, type, array.shape());
  const std::byte* const from = array.data();
  cast_loop(array.dtype().type, type)(&from, out.mutable_data(),
                                      static_cast<std::size_t>(array.size()));
  return out;
}

/// The values of a parameter for all elements of a chunk, or one that they share.
Array values_of(KernelContext& context, const Array& input, Type type, const Shape& extents) {
  const Array seen = input.size() == 1 ? input.view({}, {}) : input.broadcast_to(extents);
  return cast_items(context.memory(), seen.contiguous(context.memory()), type);
}

Parameters at(const std::vector<Array>& values, Index offset) {
  Parameters parameters;
  for (std::size_t i = 0; i < values.size(); ++i) {
    parameters.step[i] = values[i].ndim() == 0 ? 0 : 1;
    parameters.at[i] =
        values[i].data() + offset * parameters.step[i] * static_cast<Index>(values[i].item_size());
  }
  return parameters;
}

const Distribution& distribution_named(const std::string& name) {
  const Distribution* const found = find_distribution(name);
  MUSTER_ASSERT(found != nullptr, "tiling names a distribution that there is");
  return *found;
}

std::uint64_t key_of(const Attributes& attributes) {
  return static_cast<std::uint64_t>(attributes.get<std::int64_t>("key"));
}

/// The numbers of a chunk, all of one distribution.
class Drawn final : public Source {
 public:
  explicit Drawn(const Attributes& attributes)
      : distribution_(distribution_named(attributes.get<std::string>("operator"))),
        key_(key_of(attributes)),
        runs_(Place::of(attributes)),
        direct_(attributes.get<DType>("dtype").type == distribution_.output),
        item_size_(static_cast<Index>(engine::item_size(attributes.get<DType>("dtype")))),
        cast_(cast_loop(distribution_.output, attributes.get<DType>("dtype").type)) {
    for (const Attribute& number : attributes.get<List>("numbers")) {
      const Array items = std::get<Array>(number.value).contiguous(*memory_);
      numbers_.push_back(cast_items(*memory_, items, distribution_.parameter_type).view({}, {}));
    }
    check(distribution_, at(numbers_, 0), 1);
  }

  void fill(Index begin, Index count, std::byte* to) const override {
    alignas(64) std::array<std::byte, kBatch * 8> buffer;
    const std::byte* const from = buffer.data();
    const Parameters parameters = at(numbers_, 0);
    while (count > 0) {
      const Index left_of_run = runs_.length() - begin % runs_.length();
      const Index batch = std::min({count, left_of_run, static_cast<Index>(kBatch)});
      const auto items = static_cast<std::size_t>(batch);
      distribution_.fill(key_, runs_[begin], items, parameters, direct_ ? to : buffer.data());
      if (!direct_) cast_(&from, to, items);
      begin += batch;
      count -= batch;
      to += batch * item_size_;
    }
  }

 private:
  const Distribution& distribution_;
  std::uint64_t key_;
  Runs runs_;
  bool direct_;
  Index item_size_;
  Loop cast_;
  std::shared_ptr<Memory> memory_ = Memory::make(0);
  std::vector<Array> numbers_;
};

std::unique_ptr<const Source> source(const Attributes& attributes) {
  return std::make_unique<Drawn>(attributes);
}

void run_sample(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const Distribution& distribution =
      distribution_named(attributes.get<std::string>("distribution"));
  const std::uint64_t key = key_of(attributes);
  const auto dtype = attributes.get<DType>("dtype");
  const Place place = Place::of(attributes);
  std::vector<Array> values;
  for (const Array& input : context.inputs())
    values.push_back(values_of(context, input, distribution.parameter_type, place.extents));

  Array out = context.make(dtype, place.extents);
  if (out.size() > 0) check(distribution, at(values, 0), static_cast<std::size_t>(out.size()));
  const bool direct = dtype.type == distribution.output;
  const Loop cast = cast_loop(distribution.output, dtype.type);
  alignas(64) std::array<std::byte, kBatch * 8> buffer;
  for_each_run(place, [&](std::uint64_t first, Index offset, Index count) {
    for (Index done = 0; done < count; done += kBatch) {
      const auto batch = static_cast<std::size_t>(std::min<Index>(kBatch, count - done));
      std::byte* const to =
          out.mutable_data() + (offset + done) * static_cast<Index>(out.item_size());
      distribution.fill(key, first + static_cast<std::uint64_t>(done), batch,
                        at(values, offset + done), direct ? to : buffer.data());
      const std::byte* const from = buffer.data();
      if (!direct) cast(&from, to, batch);
    }
  });
  context.set(std::move(out));
}
constexpr KernelRow kSampleKernel{"random", run_sample};

/// Parameters that are written in the program are refused where they are written.
void check_constants(const Distribution& distribution, const std::vector<Tensor>& inputs) {
  const std::shared_ptr<Memory> memory = Memory::make(0);
  std::vector<Array> scalars;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Node& node = *inputs[i].node();
    if (&node.row() != &constant_row()) continue;
    const auto items = node.attributes().get<Array>("array").contiguous(*memory);
    const Array values = cast_items(*memory, items, distribution.parameter_type);
    if (distribution.parameter_type == Type::f64)
      check(distribution, i, values.as<double>(), static_cast<std::size_t>(values.size()));
    if (values.size() == 1) scalars.push_back(values.view({}, {}));
  }
  if (scalars.size() == inputs.size()) check(distribution, at(scalars, 0), 1);
}

Shape size_of(const Call& call) {
  std::vector<Shape> shapes;
  for (const Tensor& input : call.inputs) shapes.push_back(input.shape());
  const std::string operation(call.row.name);
  if (!call.attributes.has("size")) return shapes.empty() ? Shape() : broadcast(shapes, operation);
  Shape size = call.attributes.ints("size");
  for (const Index extent : size)
    if (extent < 0)
      wrong_value(
          fmt::format("{}negative extents are not allowed: {}", call.prefix(), engine::text(size)));
  shapes.push_back(size);
  if (broadcast(shapes, operation) != size)
    wrong_value(
        fmt::format("{}the parameters do not fit into size {}", call.prefix(), engine::text(size)));
  return size;
}

std::vector<Meta> infer_sample(const Call& call) {
  const Distribution& distribution = *find_distribution(call.row.name);
  if (call.inputs.size() != distribution.parameters.size())
    wrong_type(fmt::format("{}takes {} parameters, not {}", call.prefix(),
                           distribution.parameters.size(), call.inputs.size()));
  for (const Tensor& input : call.inputs)
    if (is_complex(input.dtype().type) || is_time(input.dtype().type))
      wrong_type(
          fmt::format("{}parameters are real numbers, not {}", call.prefix(), name(input.dtype())));
  Shape size = size_of(call);
  check_constants(distribution, call.inputs.all());
  if (is_known(size))
    check_chunk_size(size, call.attributes.find("chunk_size"), std::string(call.row.name));
  return {{call.attributes.get<DType>("dtype", distribution.output), std::move(size)}};
}

/// A parameter cut like the result along the axes that it has.
Tiled cut_like(TileContext& context, std::size_t input, const Splits& splits) {
  const Tiled& tiled = context.input(input);
  Splits target = tiled.splits;
  const std::size_t missing = splits.size() - target.size();
  for (std::size_t axis = 0; axis < target.size(); ++axis)
    if (shape_of(tiled.splits)[axis] == shape_of(splits)[axis + missing])
      target[axis] = splits[axis + missing];
  return rechunk(context, tiled, context.input_meta(input).dtype, target);
}

ChunkRef chunk_of(const Tiled& tiled, const Shape& position) {
  const std::size_t missing = position.size() - tiled.splits.size();
  Shape own;
  for (std::size_t axis = 0; axis < tiled.splits.size(); ++axis)
    own.push_back(tiled.splits[axis].size() == 1 ? 0 : position[axis + missing]);
  return tiled.at(own);
}

TileResult tile_sample(TileContext& context) {
  if (const auto unknown = unknown_inputs(context); !unknown.empty())
    return context.wait_for_sizes(unknown);
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < context.inputs(); ++i)
    shapes.push_back(shape_of(context.input(i).splits));
  const std::string operation(context.row().name);
  const Attributes& attributes = context.attributes();
  const Shape size = attributes.has("size") ? attributes.ints("size")
                     : shapes.empty()       ? Shape()
                                            : broadcast(shapes, operation);
  const DType dtype = context.output().dtype;
  Tiled out{decide_splits(size, item_size(dtype), attributes.find("chunk_size"), context.options(),
                          operation),
            {}};
  std::vector<Tiled> parameters;
  for (std::size_t i = 0; i < context.inputs(); ++i)
    parameters.push_back(cut_like(context, i, out.splits));
  const Starts start_of_chunk(out.splits);
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    std::vector<ChunkRef> inputs;
    for (const Tiled& parameter : parameters) inputs.push_back(chunk_of(parameter, position));
    Shape extents = extents_at(out.splits, position);
    const Attributes own = {{"distribution", operation},
                            {"key", attributes.get<std::int64_t>("key")},
                            {"dtype", dtype},
                            {"whole", Ints(size)},
                            {"start", Ints(start_of_chunk(position))},
                            {"extents", Ints(extents)}};
    out.chunks.push_back(
        context.emit(kSampleKernel, own, std::move(inputs), {dtype, std::move(extents)}));
  });
  return out;
}

}  // namespace

void register_sample(Registry& registry) {
  static const std::deque<OperatorRow> kRows = [] {
    std::deque<OperatorRow> rows;
    for (const Distribution& distribution : distributions())
      rows.push_back({.name = distribution.name,
                      .summary = distribution.summary,
                      .family = Family::random,
                      .infer = infer_sample,
                      .tile = tile_sample,
                      .source = source});
    return rows;
  }();
  for (const OperatorRow& row : kRows) registry.add(row);
  registry.add(kSampleKernel);
}

Tensor sample(std::string_view distribution, std::vector<Tensor> parameters,
              const SampleOptions& options) {
  Attributes attributes = {{"key", static_cast<std::int64_t>(options.key)},
                           {"chunk_size", options.chunk_size}};
  if (options.size) attributes = attributes.with("size", Ints(*options.size));
  return apply_one(distribution, std::move(parameters), std::move(attributes));
}

Tensor uniform(Shape size, std::uint64_t key, double low, double high) {
  return sample("random.uniform", {constant(Scalar(low)), constant(Scalar(high))},
                {.key = key, .size = std::move(size), .chunk_size = {}});
}

Tensor normal(Shape size, std::uint64_t key, double loc, double scale) {
  return sample("random.normal", {constant(Scalar(loc)), constant(Scalar(scale))},
                {.key = key, .size = std::move(size), .chunk_size = {}});
}

Tensor integers(Shape size, std::uint64_t key, std::int64_t low, std::int64_t high) {
  if (low >= high)
    wrong_value(fmt::format("[random.integers] low {} is not below high {}", low, high));
  return sample("random.integers", {constant(Scalar(low)), constant(Scalar(high - 1))},
                {.key = key, .size = std::move(size), .chunk_size = {}});
}

}  // namespace muster::engine::random
