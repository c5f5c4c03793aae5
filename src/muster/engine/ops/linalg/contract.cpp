#include "muster/engine/ops/linalg/contract.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/linalg/matrix.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/tile_context.h"
#include "muster/engine/tile/unknown_inputs.h"

namespace muster::engine {

namespace {

bool contains(const Ints& labels, std::int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// Labels by the part they play.
struct Roles {
  Ints batch;  ///< in both inputs and the result
  Ints rows;   ///< of the first
  Ints columns;
  Ints summed;

  Roles(const Ints& a, const Ints& b, const Ints& out) {
    for (const std::int64_t label : a)
      (!contains(b, label) ? rows : contains(out, label) ? batch : summed).push_back(label);
    for (const std::int64_t label : b)
      if (!contains(a, label)) columns.push_back(label);
  }
};

/// The labels' axes of `array` in this order; those with one item repeated to the extents wanted.
Array with_labels(const Array& array, const Ints& own, const std::vector<const Ints*>& wanted,
                  const std::map<std::int64_t, Index>& extents) {
  Shape shape;
  Strides strides;
  for (const Ints* labels : wanted)
    for (const std::int64_t label : *labels) {
      const auto axis =
          static_cast<std::size_t>(std::find(own.begin(), own.end(), label) - own.begin());
      shape.push_back(extents.at(label));
      strides.push_back(array.shape()[axis] == 1 ? 0 : array.strides()[axis]);
    }
  return array.view(std::move(shape), std::move(strides));
}

/// The step of a group of axes seen as one; nothing if they cannot be.
std::optional<Index> joined_step(const Array& array, std::size_t first, std::size_t count) {
  std::optional<Index> step;
  Index extent = 1;
  for (std::size_t axis = first + count; axis-- > first;) {
    if (array.shape()[axis] == 1) continue;
    if (!step)
      step = array.strides()[axis];
    else if (array.strides()[axis] != *step * extent)
      return std::nullopt;
    extent *= array.shape()[axis];
  }
  return step ? *step : static_cast<Index>(array.item_size());
}

/// One operand as (batch..., rows..., columns...), the last two groups joined.
struct Factor {
  Array array;
  Matrix matrix;  ///< of the first of the batch
  std::size_t batch;

  Factor(const Array& from, std::size_t batch_axes, std::size_t row_axes, Memory& memory)
      : array(from), batch(batch_axes) {
    const std::size_t column_axes = from.ndim() - batch_axes - row_axes;
    auto row_step = joined_step(array, batch_axes, row_axes);
    auto column_step = joined_step(array, batch_axes + row_axes, column_axes);
    if (!row_step || !column_step) {
      array = copied(from, memory);
      row_step = joined_step(array, batch_axes, row_axes);
      column_step = joined_step(array, batch_axes + row_axes, column_axes);
    }
    Index rows = 1;
    Index columns = 1;
    for (std::size_t axis = 0; axis < row_axes; ++axis) rows *= array.shape()[batch_axes + axis];
    for (std::size_t axis = 0; axis < column_axes; ++axis)
      columns *= array.shape()[batch_axes + row_axes + axis];
    matrix = {array.data(), rows, columns, *row_step, *column_step};
  }

  [[nodiscard]] Matrix at(const Shape& position) const {
    Matrix out = matrix;
    for (std::size_t axis = 0; axis < batch; ++axis)
      out.data += position[axis] * array.strides()[axis];
    return out;
  }
};

Type computed_in(Type type) { return type == Type::f16 ? Type::f32 : type; }

/// Inputs: pairs of chunks, and before them what they are added to if `accumulate`. `mirrored`:
/// both of a pair are one chunk, and the result is the same when its axes are swapped.
void run_contract(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const auto labels_a = attributes.get<Ints>("a");
  const auto labels_b = attributes.get<Ints>("b");
  const auto labels_out = attributes.get<Ints>("out");
  const auto dtype = attributes.get<DType>("dtype");
  const Type type = computed_in(dtype.type);
  const Roles roles(labels_a, labels_b, labels_out);
  Memory& memory = context.memory();
  const bool accumulate = attributes.get<bool>("accumulate", false);
  const bool mirrored = attributes.get<bool>("mirrored", false);

  std::map<std::int64_t, Index> extents;
  std::vector<int> order;  // of the axes of the sum, as the result has them
  Array sum;
  for (std::size_t pair = accumulate ? 1 : 0; pair < context.inputs().size(); pair += 2) {
    const Array a = converted(context.input(pair), DType(type), memory);
    const Array b = converted(context.input(pair + 1), DType(type), memory);
    extents.clear();
    for (std::size_t axis = 0; axis < labels_a.size(); ++axis)
      extents[labels_a[axis]] = a.shape()[axis];
    for (std::size_t axis = 0; axis < labels_b.size(); ++axis) {
      const auto [at, fresh] = extents.try_emplace(labels_b[axis], b.shape()[axis]);
      if (!fresh && at->second == 1) at->second = b.shape()[axis];
    }
    if (!sum) {
      Ints own;
      for (const Ints* labels : {&roles.batch, &roles.rows, &roles.columns})
        own.insert(own.end(), labels->begin(), labels->end());
      Shape shape;
      for (const std::int64_t label : own) shape.push_back(extents.at(label));
      for (const std::int64_t label : labels_out)
        order.push_back(static_cast<int>(std::find(own.begin(), own.end(), label) - own.begin()));
      sum = Array(memory, DType(type, dtype.unit), shape);
      if (accumulate) {
        Array to = sum.transposed(order);
        copy_items(converted(context.input(0), DType(type), memory), to);
      } else {
        std::memset(sum.mutable_data(), 0, sum.nbytes());
      }
    }
    const Factor left(with_labels(a, labels_a, {&roles.batch, &roles.rows, &roles.summed}, extents),
                      roles.batch.size(), roles.rows.size(), memory);
    const Factor right(
        with_labels(b, labels_b, {&roles.batch, &roles.summed, &roles.columns}, extents),
        roles.batch.size(), roles.summed.size(), memory);
    Shape batch;
    for (const std::int64_t label : roles.batch) batch.push_back(extents.at(label));
    std::byte* to = sum.mutable_data();
    const Index bytes =
        left.matrix.rows * right.matrix.columns * static_cast<Index>(sum.item_size());
    if (mirrored) {
      add_square(type, left.matrix, to, right.matrix.columns, memory);
      continue;
    }
    for_each_position(batch, [&](const Shape& position) {
      add_product(type, left.at(position), right.at(position), to, right.matrix.columns, Sign::plus,
                  memory);
      to += bytes;
    });
  }
  if (mirrored) mirror_upper(type, sum.mutable_data(), sum.shape()[0]);
  context.set(converted(sum.transposed(order), dtype, memory));
}
constexpr KernelRow kContract{"contract", run_contract};

constexpr KernelRow kFlip{"contract_flip", [](KernelContext& context) {
                            context.set(context.input(0).transposed({1, 0}));
                          }};

void run_add_up(KernelContext& context) {
  const DType dtype = context.input(0).dtype();
  const DType wide(computed_in(dtype.type), dtype.unit);
  Array sum = copied(converted(context.input(0), wide, context.memory()), context.memory());
  for (std::size_t i = 1; i < context.inputs().size(); ++i) {
    const Array items =
        converted(context.input(i), wide, context.memory()).contiguous(context.memory());
    add_items(wide.type, items.data(), sum.mutable_data(), sum.size());
  }
  context.set(converted(sum, dtype, context.memory()));
}
constexpr KernelRow kAddUp{"add_up", run_add_up};

bool are_distinct(Ints labels) {
  std::ranges::sort(labels);
  return std::ranges::adjacent_find(labels) == labels.end();
}

/// One label per axis, and in the result those of both, where what only one has must be.
void check_labels(const Call& call, const Ints& a, const Ints& b, const Ints& out) {
  const auto each = [](const Ints& labels, const auto& holds) {
    return std::ranges::all_of(labels, holds);
  };
  if (a.size() != call.inputs[0].ndim() || b.size() != call.inputs[1].ndim() || !are_distinct(a) ||
      !are_distinct(b) || !are_distinct(out) ||
      !each(out, [&](std::int64_t label) { return contains(a, label) || contains(b, label); }) ||
      !each(a, [&](std::int64_t label) { return contains(b, label) || contains(out, label); }) ||
      !each(b, [&](std::int64_t label) { return contains(a, label) || contains(out, label); }))
    wrong_value(call.prefix() + "the labels of the axes do not fit together");
}

std::vector<Meta> infer_contract(const Call& call) {
  const Meta a = call.inputs[0].meta();
  const Meta b = call.inputs[1].meta();
  const auto labels_a = call.attributes.get<Ints>("a");
  const auto labels_b = call.attributes.get<Ints>("b");
  check_labels(call, labels_a, labels_b, call.attributes.get<Ints>("out"));
  const auto operation = call.attributes.get<std::string>("operation", "contract");
  const auto both = promote(a.dtype, b.dtype);
  if (!both || is_time(both->type))
    wrong_type(
        fmt::format("[{}] is not defined for {} and {}", operation, name(a.dtype), name(b.dtype)));
  std::map<std::int64_t, Index> extents;
  for (std::size_t axis = 0; axis < labels_a.size(); ++axis)
    extents[labels_a[axis]] = a.shape[axis];
  for (std::size_t axis = 0; axis < labels_b.size(); ++axis) {
    const auto [at, fresh] = extents.try_emplace(labels_b[axis], b.shape[axis]);
    if (fresh || at->second == b.shape[axis]) continue;
    if (at->second == 1 || at->second == kUnknown)
      at->second = b.shape[axis] == 1 ? at->second : b.shape[axis];
    else if (b.shape[axis] != 1 && b.shape[axis] != kUnknown)
      wrong_value(fmt::format("[{}] sizes differ: {} and {}, of shapes {} and {}", operation,
                              at->second, b.shape[axis], text(a.shape), text(b.shape)));
  }
  Shape shape;
  for (const std::int64_t label : call.attributes.get<Ints>("out"))
    shape.push_back(extents.at(label));
  return {{*both, shape}};
}

using LabelSplits = std::map<std::int64_t, std::vector<Index>>;

LabelSplits label_splits(const TileContext& context, const Ints& labels_a, const Ints& labels_b) {
  LabelSplits splits;
  const std::vector<Index> one = {1};
  const auto take = [&](const Tiled& input, const Ints& labels) {
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      const auto [at, fresh] = splits.try_emplace(labels[axis], input.splits[axis]);
      if (fresh || input.splits[axis] == one) continue;
      at->second =
          at->second == one ? input.splits[axis] : common_split(at->second, input.splits[axis]);
    }
  };
  take(context.input(0), labels_a);
  take(context.input(1), labels_b);
  return splits;
}

/// Each piece cut into `parts`, none smaller than `least`.
std::vector<Index> refined(const std::vector<Index>& extents, Index parts, Index least) {
  std::vector<Index> out;
  for (const Index extent : extents)
    for (const Index piece :
         even_split(extent, std::max(least, (extent + parts - 1) / std::max<Index>(parts, 1))))
      out.push_back(piece);
  return out;
}

double volume_of(const LabelSplits& splits, const Ints& labels) {
  double product = 1;
  for (const std::int64_t label : labels) {
    double extent = 0;
    for (const Index piece : splits.at(label)) extent += static_cast<double>(piece);
    product *= extent;
  }
  return product;
}

Index grid_volume(const LabelSplits& splits, const Ints& labels) {
  Index product = 1;
  for (const std::int64_t label : labels) product *= static_cast<Index>(splits.at(label).size());
  return product;
}

/// Whether chunks are parts of one array of the result's type, so that neither joining nor
/// multiplying them copies anything.
bool lie_in_one(const TileContext& context, const Tiled& tiled) {
  const Array first = context.value(tiled.chunks.front());
  return first && first.owner() && first.ndim() > 0 && first.dtype() == context.output().dtype &&
         first.strides().back() == static_cast<Index>(first.item_size()) &&
         std::all_of(tiled.chunks.begin(), tiled.chunks.end(),
                     [&](ChunkRef chunk) { return context.value(chunk).owner() == first.owner(); });
}

bool are_plain_matrices(const Roles& roles) {
  return roles.batch.empty() && roles.rows.size() <= 1 && roles.columns.size() <= 1 &&
         roles.summed.size() <= 1;
}

/// Joins small pieces of plain matrices: products of small ones are slower than those of large ones
/// by more than copying them together costs.
void join_small(LabelSplits& splits) {
  constexpr Index kEnough = 1024;
  for (auto& [label, pieces] : splits) {
    std::vector<Index> joined;
    for (const Index piece : pieces)
      if (joined.empty() || joined.back() + piece > kEnough)
        joined.push_back(piece);
      else
        joined.back() += piece;
    pieces = std::move(joined);
  }
}

/// Cuts plain matrices that lie in memory as they are, so that any cut is free: BLAS is fastest
/// with large pieces, and if it is called once for all that is summed up. As many tasks for each
/// thread.
void cut_freely(LabelSplits& splits, const Roles& roles, Index threads) {
  constexpr Index kEnough = 2048;
  constexpr Index kLeast = 256;
  constexpr Index kMostItems = Index{1} << 25;  // of both factors of a product
  const auto extent_of = [&](const Ints& labels) {
    return static_cast<Index>(volume_of(splits, labels));
  };
  const auto cut = [&](const Ints& labels, Index parts) {
    auto& pieces = splits.at(labels.front());
    const Index extent = extent_of(labels);
    pieces = even_split(extent, std::max<Index>(1, (extent + parts - 1) / parts));
    return pieces.front();
  };
  const auto parts_of = [&](const Ints& labels, Index most) {
    return std::max<Index>(1, (extent_of(labels) + most - 1) / most);
  };
  Index rows = parts_of(roles.rows, kEnough);
  Index columns = parts_of(roles.columns, kEnough);
  if (const Index tasks = rows * columns; tasks > 1 && tasks < 4 * threads)
    while (rows * columns % threads != 0) {
      const Index height = extent_of(roles.rows) / rows;
      const Index width = extent_of(roles.columns) / columns;
      if (std::max(height, width) < 2 * kLeast) break;
      ++(height > width ? rows : columns);
    }
  const Index both = cut(roles.rows, rows) + cut(roles.columns, columns);
  cut(roles.summed, parts_of(roles.summed, kMostItems / std::max<Index>(both, 1)));
}

/// Cuts chunks further where there would be fewer tasks than threads.
void cut_for_threads(LabelSplits& splits, const Roles& roles, const Ints& out, Index threads) {
  constexpr double kWorthwhile = 1 << 22;
  constexpr Index kLeast = 64;
  const double work = volume_of(splits, out) * volume_of(splits, roles.summed);
  if (work < kWorthwhile || threads < 2) return;
  const Index wanted = work > 1e10 ? 2 * threads : threads;
  const Index parts = (wanted + grid_volume(splits, out) - 1) / grid_volume(splits, out);
  if (parts <= 1) return;
  const auto longest = [&](const Ints& labels) {
    return std::max_element(labels.begin(), labels.end(), [&](std::int64_t x, std::int64_t y) {
      return *std::max_element(splits.at(x).begin(), splits.at(x).end()) <
             *std::max_element(splits.at(y).begin(), splits.at(y).end());
    });
  };
  if (const auto label = longest(out); label != out.end()) {
    const auto pieces = refined(splits.at(*label), parts, kLeast);
    if (static_cast<Index>(pieces.size()) >=
        parts * static_cast<Index>(splits.at(*label).size()) / 2) {
      splits.at(*label) = pieces;
      if (pieces.size() > 1) return;
    }
  }
  if (grid_volume(splits, roles.summed) >= parts) return;
  if (const auto label = longest(roles.summed); label != roles.summed.end())
    splits.at(*label) = refined(splits.at(*label), parts, 4096);
}

/// The sums of one chunk of the result.
class Summing {
 public:
  Summing(TileContext& context, Attributes attributes, Meta meta)
      : context_(context), attributes_(std::move(attributes)), meta_(std::move(meta)) {}

  void add(ChunkRef a, ChunkRef b) {
    chunks_.push_back(a);
    chunks_.push_back(b);
  }

  /// All pairs one task after the other, a few in each: what they read need not be there at once.
  ChunkRef in_a_row(std::size_t pairs_per_task) {
    ChunkRef sum = task(0, std::min(pairs_per_task, pairs()), nullptr);
    for (std::size_t at = pairs_per_task; at < pairs(); at += pairs_per_task)
      sum = task(at, std::min(pairs_per_task, pairs() - at), &sum);
    return sum;
  }

  /// Pairs in this many groups at the same time.
  ChunkRef in_groups(std::size_t groups) {
    std::vector<ChunkRef> sums;
    const std::size_t size = (pairs() + groups - 1) / groups;
    for (std::size_t at = 0; at < pairs(); at += size)
      sums.push_back(task(at, std::min(size, pairs() - at), nullptr));
    return sums.size() == 1 ? sums.front() : context_.emit(kAddUp, {}, std::move(sums), meta_);
  }

  [[nodiscard]] std::size_t pairs() const { return chunks_.size() / 2; }

 private:
  ChunkRef task(std::size_t first, std::size_t count, const ChunkRef* sum) {
    std::vector<ChunkRef> inputs;
    if (sum != nullptr) inputs.push_back(*sum);
    inputs.insert(inputs.end(), chunks_.begin() + static_cast<std::ptrdiff_t>(2 * first),
                  chunks_.begin() + static_cast<std::ptrdiff_t>(2 * (first + count)));
    return context_.emit(kContract,
                         sum == nullptr ? attributes_ : attributes_.with("accumulate", true),
                         std::move(inputs), meta_);
  }

  TileContext& context_;
  Attributes attributes_;
  Meta meta_;
  std::vector<ChunkRef> chunks_;
};

Splits target_by_labels(const TileContext& context, std::size_t input, const Ints& labels,
                        const LabelSplits& splits) {
  Splits target;
  const std::vector<Index> one = {1};
  for (std::size_t axis = 0; axis < labels.size(); ++axis)
    target.push_back(context.input(input).splits[axis] == one ? one : splits.at(labels[axis]));
  return target;
}

Tiled cut_by_labels(TileContext& context, std::size_t input, const Ints& labels,
                    const LabelSplits& splits) {
  return rechunk(context, context.input(input), context.input_meta(input).dtype,
                 target_by_labels(context, input, labels, splits));
}

Shape place_of(const Tiled& input, const Ints& labels,
               const std::map<std::int64_t, Index>& position) {
  Shape place;
  for (std::size_t axis = 0; axis < labels.size(); ++axis)
    place.push_back(input.splits[axis].size() == 1 ? 0 : position.at(labels[axis]));
  return place;
}

/// Whether a matrix is multiplied by itself, so that the result is the same when its axes are
/// swapped: the two have the same labels but for that of the rows and that of the columns.
bool is_square_of_one(const TileContext& context, const Roles& roles, const Ints& labels_a,
                      const Ints& labels_b, const Ints& labels_out) {
  if (context.input(0).chunks != context.input(1).chunks || roles.rows.size() != 1 ||
      roles.columns.size() != 1 || !roles.batch.empty() || labels_out.size() != 2 ||
      labels_a.size() != labels_b.size())
    return false;
  for (std::size_t axis = 0; axis < labels_a.size(); ++axis)
    if (labels_a[axis] == roles.rows.front() ? labels_b[axis] != roles.columns.front()
                                             : labels_a[axis] != labels_b[axis])
      return false;
  return true;
}

TileResult tile_contract(TileContext& context) {
  if (const auto unknown = unknown_inputs(context); !unknown.empty())
    return context.wait_for_sizes(unknown);
  const auto labels_a = context.attributes().get<Ints>("a");
  const auto labels_b = context.attributes().get<Ints>("b");
  const auto labels_out = context.attributes().get<Ints>("out");
  const Roles roles(labels_a, labels_b, labels_out);
  const auto threads = static_cast<Index>(context.options().threads);
  // Sizes may have become known only now.
  std::map<std::int64_t, Index> extents;
  for (std::size_t axis = 0; axis < labels_a.size(); ++axis)
    extents[labels_a[axis]] = context.input_meta(0).shape[axis];
  for (std::size_t axis = 0; axis < labels_b.size(); ++axis) {
    const Index other = context.input_meta(1).shape[axis];
    const auto [at, fresh] = extents.try_emplace(labels_b[axis], other);
    if (!fresh && at->second != other && at->second != 1 && other != 1)
      wrong_value(fmt::format("[{}] sizes differ: {} and {}",
                              context.attributes().get<std::string>("operation", "contract"),
                              at->second, other));
  }

  LabelSplits splits = label_splits(context, labels_a, labels_b);
  if (are_plain_matrices(roles)) {
    const bool whole = !roles.rows.empty() && !roles.columns.empty() && !roles.summed.empty();
    if (whole && lie_in_one(context, context.input(0)) && lie_in_one(context, context.input(1)))
      cut_freely(splits, roles, threads);
    else
      join_small(splits);
  }
  cut_for_threads(splits, roles, labels_out, threads);
  const bool square = is_square_of_one(context, roles, labels_a, labels_b, labels_out);
  if (square) {
    auto& rows = splits.at(roles.rows.front());
    auto& columns = splits.at(roles.columns.front());
    rows = columns = rows.size() > columns.size() ? rows : columns;
  }
  const Tiled a = cut_by_labels(context, 0, labels_a, splits);
  // A product with itself cuts itself once.
  const bool same = context.input(0).chunks == context.input(1).chunks &&
                    target_by_labels(context, 0, labels_a, splits) ==
                        target_by_labels(context, 1, labels_b, splits);
  const Tiled b = same ? a : cut_by_labels(context, 1, labels_b, splits);

  const DType dtype = context.output().dtype;
  const Attributes attributes = {
      {"a", labels_a}, {"b", labels_b}, {"out", labels_out}, {"dtype", dtype}};
  Tiled out;
  Shape summed_grid;
  for (const std::int64_t label : labels_out) out.splits.push_back(splits.at(label));
  for (const std::int64_t label : roles.summed)
    summed_grid.push_back(static_cast<Index>(splits.at(label).size()));
  const auto tasks = static_cast<Index>(chunk_count(out.splits));
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    if (square && position[0] > position[1]) {
      const ChunkRef flipped = out.at({position[1], position[0]});
      out.chunks.push_back(
          context.emit(kFlip, {}, {flipped}, {dtype, extents_at(out.splits, position)}));
      return;
    }
    std::map<std::int64_t, Index> at;
    for (std::size_t axis = 0; axis < labels_out.size(); ++axis)
      at[labels_out[axis]] = position[axis];
    const bool mirrored = square && position[0] == position[1];
    Summing summing(context, mirrored ? attributes.with("mirrored", true) : attributes,
                    {dtype, extents_at(out.splits, position)});
    std::size_t bytes = 1;
    for_each_position(summed_grid, [&](const Shape& part) {
      for (std::size_t axis = 0; axis < roles.summed.size(); ++axis)
        at[roles.summed[axis]] = part[axis];
      const ChunkRef left = a.at(place_of(a, labels_a, at));
      const ChunkRef right = b.at(place_of(b, labels_b, at));
      for (const ChunkRef chunk : {left, right})
        bytes += static_cast<std::size_t>(volume(context.meta(chunk).shape)) *
                 item_size(context.meta(chunk).dtype);
      summing.add(left, right);
    });
    if (tasks >= threads) {
      const std::size_t budget = 2 * context.options().chunk_store_limit;
      out.chunks.push_back(
          summing.in_a_row(std::max<std::size_t>(1, budget / (bytes / summing.pairs() + 1))));
    } else {
      out.chunks.push_back(
          summing.in_groups(static_cast<std::size_t>((2 * threads + tasks - 1) / tasks)));
    }
  });
  return out;
}

constexpr OperatorRow kContractRow{
    .name = "contract",
    .summary = "the sum of products over the labels that inputs share",
    .family = Family::linalg,
    .infer = infer_contract,
    .tile = tile_contract};

}  // namespace

Tensor contract(const Tensor& a, const Tensor& b, Ints labels_a, Ints labels_b, Ints labels_out) {
  return apply_one(
      kContractRow, {a, b},
      {{"a", std::move(labels_a)}, {"b", std::move(labels_b)}, {"out", std::move(labels_out)}});
}

void register_contract(Registry& registry) {
  registry.add(kContractRow);
  registry.add(kContract);
  registry.add(kAddUp);
  registry.add(kFlip);
}

}  // namespace muster::engine
