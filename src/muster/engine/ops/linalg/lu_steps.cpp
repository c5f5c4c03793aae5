#include "muster/engine/ops/linalg/lu_steps.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/linalg/blocks.h"
#include "muster/engine/ops/linalg/lapack.h"
#include "muster/engine/ops/linalg/matrix.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// Rows from `begin` of a matrix.
Array rows_of(const Array& array, Index begin, Index count) {
  return array.slice({begin, 0}, {count, array.shape()[1]});
}

/// Row start + i changes places with row start + swaps[i], one after the other. C order.
void swap_rows(Array& array, Index start, const Array& swaps) {
  const std::size_t bytes = static_cast<std::size_t>(array.shape()[1]) * array.item_size();
  std::vector<std::byte> kept(bytes);
  const auto* const with = swaps.as<std::int32_t>();
  for (Index i = 0; i < swaps.size(); ++i) {
    if (with[i] == i || bytes == 0) continue;
    std::byte* const a = array.mutable_data() + static_cast<std::size_t>(start + i) * bytes;
    std::byte* const b = array.mutable_data() + static_cast<std::size_t>(start + with[i]) * bytes;
    std::memcpy(kept.data(), a, bytes);
    std::memcpy(a, b, bytes);
    std::memcpy(b, kept.data(), bytes);
  }
}

/// Outputs: the panel with its rows from `start` factored, and the swaps.
void run_panel(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  const auto start = context.attributes().get<std::int64_t>("start");
  Array out = copied(converted(context.input(0), dtype, context.memory()), context.memory());
  Array lower = rows_of(out, start, out.shape()[0] - start);
  LuFactors factors = lapack_lu(lower, context.memory());
  copy_items(factors.factors, lower);
  context.set(0, std::move(out));
  context.set(1, std::move(factors.swaps));
}
constexpr KernelRow kPanel{"lu_panel", run_panel};

/// Inputs: columns, a factored panel, its swaps.
void run_update(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  const auto start = context.attributes().get<std::int64_t>("start");
  Memory& memory = context.memory();
  const Array in = converted(context.input(0), dtype, memory);
  Array out = copied(in.ndim() == 1 ? in.reshaped(memory, {in.shape()[0], 1}) : in, memory);
  const Array& panel = context.input(1);
  const Array& swaps = context.input(2);
  swap_rows(out, start, swaps);
  const Index count = swaps.size();
  const Index below = out.shape()[0] - start - count;
  Array upper = rows_of(out, start, count);
  solve_left(panel.slice({start, 0}, {count, count}), Triangle::lower, Diagonal::unit, upper,
             memory);
  Array rest = rows_of(out, start + count, below);
  if (below > 0)
    add_product(dtype.type, matrix_of(panel.slice({start + count, 0}, {below, count})),
                matrix_of(upper), rest.mutable_data(), out.shape()[1], Sign::minus, memory);
  context.set(std::move(out));
}
constexpr KernelRow kUpdate{"lu_update", run_update};

/// Inputs: a panel and the swaps of those after it, which begin at `starts`.
void run_settle(KernelContext& context) {
  Array out = copied(context.input(0), context.memory());
  const auto starts = context.attributes().get<Ints>("starts");
  for (std::size_t i = 1; i < context.inputs().size(); ++i)
    swap_rows(out, starts[i - 1], context.input(i));
  context.set(std::move(out));
}
constexpr KernelRow kSettle{"lu_settle", run_settle};

}  // namespace

LuColumns::LuColumns(TileContext& context, const Tiled& a, DType from, DType dtype)
    : context_(context), dtype_(dtype), rows_(shape_of(a.splits)[0]) {
  const Index columns = shape_of(a.splits)[1];
  widths_ = at_most(a.splits[1], block_length(columns, context.options().threads));
  factors_ = rechunk(context, a, from, {{rows_}, widths_}).chunks;
  Index start = 0;
  for (std::size_t panel = 0; panel < widths_.size(); ++panel) {
    const Index count = std::min(widths_[panel], rows_ - start);
    const Attributes attributes = {{"dtype", dtype}, {"start", start}};
    if (count <= 0) break;
    const std::uint32_t task =
        context.emit_many(kPanel, attributes, {factors_[panel]},
                          {{dtype, {rows_, widths_[panel]}}, {Type::i32, {count}}});
    factors_[panel] = {task, 0};
    swaps_.push_back({task, 1});
    starts_.push_back(start);
    for (std::size_t right = panel + 1; right < widths_.size(); ++right)
      factors_[right] =
          context.emit(kUpdate, attributes, {factors_[right], factors_[panel], swaps_[panel]},
                       {dtype, {rows_, widths_[right]}});
    start += count;
  }
}

ChunkRef LuColumns::updated(ChunkRef columns, const Shape& shape) {
  for (std::size_t panel = 0; panel < swaps_.size(); ++panel)
    columns = context_.emit(kUpdate, {{"dtype", dtype_}, {"start", starts_[panel]}},
                            {columns, factors_[panel], swaps_[panel]}, {dtype_, shape});
  return columns;
}

std::vector<ChunkRef> LuColumns::settled() {
  std::vector<ChunkRef> out = factors_;
  for (std::size_t panel = 0; panel + 1 < swaps_.size(); ++panel) {
    std::vector<ChunkRef> inputs = {factors_[panel]};
    inputs.insert(inputs.end(), swaps_.begin() + static_cast<std::ptrdiff_t>(panel) + 1,
                  swaps_.end());
    const Ints starts(starts_.begin() + static_cast<std::ptrdiff_t>(panel) + 1, starts_.end());
    out[panel] = context_.emit(kSettle, {{"starts", starts}}, std::move(inputs),
                               {dtype_, {rows_, widths_[panel]}});
  }
  return out;
}

void register_lu_steps(Registry& registry) {
  registry.add(kPanel);
  registry.add(kUpdate);
  registry.add(kSettle);
}

}  // namespace muster::engine
