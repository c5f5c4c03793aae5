#include "muster/engine/ops/statistics/joined_counts.h"

#include <algorithm>

#include "muster/engine/kernels/ufunc.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

template <class T>
void add_counts(KernelContext& context, Array& out) {
  T* const sums = out.mutable_as<T>();
  std::fill_n(sums, out.size(), T{});
  for (const Array& input : context.inputs()) {
    const Array counts = input.contiguous(context.memory());
    const T* const from = counts.as<T>();
    for (Index i = 0; i < counts.size(); ++i) sums[i] += from[i];
  }
}

void run_join_counts(KernelContext& context) {
  Index length = context.attributes().get<std::int64_t>("minlength");
  for (const Array& input : context.inputs()) length = std::max(length, input.size());
  Array out = context.make(context.input(0).dtype(), {length});
  if (out.dtype().type == Type::f64)
    add_counts<double>(context, out);
  else
    add_counts<std::int64_t>(context, out);
  context.set(std::move(out));
}
constexpr KernelRow kJoinCountsKernel{"join_counts", run_join_counts};

}  // namespace

ChunkRef join_counts(TileContext& context, std::vector<ChunkRef> counts, Index minlength) {
  const auto fan_in = static_cast<std::size_t>(std::max(2, context.options().combine_size));
  const Attributes attributes = {{"minlength", minlength}};
  do {
    std::vector<ChunkRef> next;
    for (std::size_t at = 0; at < counts.size(); at += fan_in) {
      std::vector<ChunkRef> group(
          counts.begin() + static_cast<std::ptrdiff_t>(at),
          counts.begin() + static_cast<std::ptrdiff_t>(std::min(at + fan_in, counts.size())));
      const Meta meta = context.meta(group.front());
      next.push_back(context.emit(kJoinCountsKernel, attributes, std::move(group), meta));
    }
    counts = std::move(next);
  } while (counts.size() > 1);
  return counts.front();
}

bool align_weights(TileContext& context, std::size_t weights, Tiled& out) {
  out = context.input(weights);
  if (out.splits == context.input(0).splits) return true;
  if (!context.knows(0) || !context.knows(weights)) return false;
  out = rechunk(context, out, context.input_meta(weights).dtype, context.input(0).splits);
  return true;
}

void register_join_counts(Registry& registry) { registry.add(kJoinCountsKernel); }

}  // namespace muster::engine
