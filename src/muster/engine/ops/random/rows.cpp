#include "muster/engine/ops/random/rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/random/draws.h"
#include "muster/engine/ops/random/places.h"
#include "muster/engine/ops/random/samplers.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/tile_context.h"
#include "muster/engine/value/starts.h"

namespace muster::engine::random {

namespace {

/// The items of the parameters, doubles in C order.
using Values = std::array<const double*, 2>;

/// One row of `width` numbers.
using FillRow = void (*)(Draws& draws, const Values& values, Index width, std::byte* out);

void fill_dirichlet(Draws& draws, const Values& values, Index width, std::byte* out) {
  auto* const row = reinterpret_cast<double*>(out);
  double sum = 0;
  for (Index i = 0; i < width; ++i) sum += row[i] = gamma(draws, values[0][i]);
  if (sum > 0) {
    for (Index i = 0; i < width; ++i) row[i] /= sum;
    return;
  }
  // All gammas are too small to see: by breaking a stick, one beta after the other.
  double rest = 1;
  for (Index i = 0; i < width; ++i) {
    double after = 0;
    for (Index j = i + 1; j < width; ++j) after += values[0][j];
    const double share = after > 0 ? beta(draws, values[0][i], after) : 1;
    row[i] = rest * share;
    rest *= 1 - share;
  }
}

void fill_multinomial(Draws& draws, const Values& values, Index width, std::byte* out) {
  auto* const row = reinterpret_cast<std::int64_t*>(out);
  auto left = static_cast<std::int64_t>(values[0][0]);
  double rest = 1;
  for (Index i = 0; i + 1 < width; ++i) {
    const double p = rest > 0 ? std::clamp(values[1][i] / rest, 0.0, 1.0) : 0;
    row[i] = binomial(draws, left, p);
    left -= row[i];
    rest -= values[1][i];
  }
  if (width > 0) row[width - 1] = left;
}

/// mean + normals @ transform
void fill_multivariate_normal(Draws& draws, const Values& values, Index width, std::byte* out) {
  auto* const row = reinterpret_cast<double*>(out);
  std::copy_n(values[0], width, row);
  for (Index i = 0; i < width; ++i) {
    const double normal = draws.normal();
    for (Index j = 0; j < width; ++j) row[j] += normal * values[1][i * width + j];
  }
}

struct RowDistribution {
  std::string_view name;
  std::string_view summary;
  std::size_t parameters;
  std::size_t vector;  ///< the parameter that is as wide as a row
  Type output;
  FillRow fill;
};

constexpr std::array<RowDistribution, 3> kDistributions = {{
    {"random.dirichlet", "shares of 1", 1, 0, Type::f64, fill_dirichlet},
    {"random.multinomial", "how often each of several outcomes came in n trials", 2, 1, Type::i64,
     fill_multinomial},
    {"random.multivariate_normal", "vectors with a mean and a covariance", 2, 0, Type::f64,
     fill_multivariate_normal},
}};

const RowDistribution& distribution_named(std::string_view name) {
  const auto* const found = std::find_if(kDistributions.begin(), kDistributions.end(),
                                         [&](const auto& each) { return each.name == name; });
  MUSTER_ASSERT(found != kDistributions.end(), "rows name a distribution that there is");
  return *found;
}

void run_rows(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const RowDistribution& distribution =
      distribution_named(attributes.get<std::string>("distribution"));
  const auto key = static_cast<std::uint64_t>(attributes.get<std::int64_t>("key"));
  const auto width = attributes.get<std::int64_t>("width");
  Values values{};
  std::array<Array, 2> held;
  for (std::size_t i = 0; i < context.inputs().size(); ++i) {
    held[i] = context.input(i).contiguous(context.memory());
    values[i] = held[i].as<double>();
  }
  const Place place = Place::of(attributes);
  Shape shape = place.extents;
  shape.push_back(width);
  Array out = context.make(distribution.output, shape);
  const Index row_bytes = width * static_cast<Index>(out.item_size());
  for_each_run(place, [&](std::uint64_t first, Index offset, Index count) {
    for (Index i = 0; i < count; ++i) {
      Draws draws(key, first + static_cast<std::uint64_t>(i));
      distribution.fill(draws, values, width, out.mutable_data() + (offset + i) * row_bytes);
    }
  });
  context.set(std::move(out));
}
constexpr KernelRow kRowsKernel{"random_rows", run_rows};

std::vector<Meta> infer_rows(const Call& call) {
  const RowDistribution& distribution = distribution_named(call.row.name);
  if (call.inputs.size() != distribution.parameters)
    wrong_type(fmt::format("{}takes {} parameters, not {}", call.prefix(), distribution.parameters,
                           call.inputs.size()));
  for (const Tensor& input : call.inputs)
    if (input.dtype() != DType(Type::f64) || !is_known(input.shape()))
      wrong_type(fmt::format("{}parameters are float64 and of known shape", call.prefix()));
  const Shape vector = call.inputs[distribution.vector].shape();
  if (vector.size() != 1)
    wrong_value(fmt::format("{}takes a vector, not an array of shape {}", call.prefix(),
                            engine::text(vector)));
  Shape shape = call.attributes.ints("size");
  for (const Index extent : shape)
    if (extent < 0)
      wrong_value(fmt::format("{}negative extents are not allowed: {}", call.prefix(),
                              engine::text(shape)));
  shape.push_back(vector.front());
  return {{distribution.output, std::move(shape)}};
}

TileResult tile_rows(TileContext& context) {
  const RowDistribution& distribution = distribution_named(context.row().name);
  const Attributes& attributes = context.attributes();
  const Meta& meta = context.output();
  std::vector<ChunkRef> inputs;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    Splits whole;
    for (const Index extent : shape_of(context.input(i).splits)) whole.push_back({extent});
    inputs.push_back(
        rechunk(context, context.input(i), context.input_meta(i).dtype, whole).chunks.front());
  }
  // As many rows to a chunk as fit; rows are never cut.
  const Index width = meta.shape.back();
  Shape size(meta.shape.begin(), meta.shape.end() - 1);
  Tiled out{decide_splits(size, std::max<std::size_t>(1, static_cast<std::size_t>(width)) * 8,
                          attributes.find("chunk_size"), context.options(),
                          std::string(context.row().name)),
            {}};
  const Starts start_of_chunk(out.splits);
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    Shape extents = extents_at(out.splits, position);
    const Attributes own = {{"distribution", std::string(distribution.name)},
                            {"key", attributes.get<std::int64_t>("key")},
                            {"width", width},
                            {"whole", Ints(size)},
                            {"start", Ints(start_of_chunk(position))},
                            {"extents", Ints(extents)}};
    extents.push_back(width);
    out.chunks.push_back(context.emit(kRowsKernel, own, inputs, {meta.dtype, std::move(extents)}));
  });
  out.splits.push_back({width});
  return out;
}

}  // namespace

void register_rows(Registry& registry) {
  static const std::array<OperatorRow, kDistributions.size()> kRows = [] {
    std::array<OperatorRow, kDistributions.size()> rows;
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i] = {.name = kDistributions[i].name,
                 .summary = kDistributions[i].summary,
                 .family = Family::random,
                 .infer = infer_rows,
                 .tile = tile_rows};
    return rows;
  }();
  for (const OperatorRow& row : kRows) registry.add(row);
  registry.add(kRowsKernel);
}

}  // namespace muster::engine::random
