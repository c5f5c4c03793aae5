#include "muster/engine/tile/chunking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"
#include "muster/engine/tile/rechunk_plan.h"

namespace muster::engine {

namespace {

/// What the user wants for one axis: a size, the extents themselves, or nothing.
struct Wish {
  Index size = 0;
  std::vector<Index> extents;
};

std::vector<Wish> wishes_of(const Shape& shape, const Attribute::Value* chunk_size,
                            const std::string& operation) {
  std::vector<Wish> wishes(shape.size());
  if (chunk_size == nullptr) return wishes;
  const auto refuse = [&](const std::string& what) {
    wrong_value(fmt::format("[{}] chunk_size {}; the shape is {}", operation, what, text(shape)));
  };
  if (const auto* one = std::get_if<std::int64_t>(chunk_size)) {
    if (*one <= 0) refuse(fmt::format("is {}, but must be positive", *one));
    for (Wish& wish : wishes) wish.size = *one;
    return wishes;
  }
  if (const auto* sizes = std::get_if<Ints>(chunk_size)) {
    if (sizes->size() != shape.size()) refuse(fmt::format("has {} numbers", sizes->size()));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if ((*sizes)[axis] <= 0)
        refuse(fmt::format("is {} for axis {}, but must be positive", (*sizes)[axis], axis));
      wishes[axis].size = (*sizes)[axis];
    }
    return wishes;
  }
  const auto* lists = std::get_if<List>(chunk_size);
  if (lists == nullptr)
    refuse("must be a number, a number for each axis, or the extents for each axis");
  if (lists->size() != shape.size()) refuse(fmt::format("has {} parts", lists->size()));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Attribute::Value& part = (*lists)[axis].value;
    if (std::holds_alternative<std::monostate>(part)) continue;
    if (const auto* one = std::get_if<std::int64_t>(&part); one != nullptr && *one > 0) {
      wishes[axis].size = *one;
      continue;
    }
    const auto* extents = std::get_if<Ints>(&part);
    if (extents == nullptr)
      refuse(
          fmt::format("for axis {} is neither a positive number, a list of them nor None", axis));
    if (std::any_of(extents->begin(), extents->end(), [](Index extent) { return extent < 0; }) ||
        std::accumulate(extents->begin(), extents->end(), Index{0}) != shape[axis])
      refuse(fmt::format("for axis {} is ({}), which does not sum up to {}", axis,
                         fmt::join(*extents, ", "), shape[axis]));
    wishes[axis].extents = *extents;
  }
  return wishes;
}

// A list of so many chunks takes gigabytes before the first is made.
constexpr double kMostChunks = 10'000'000;

void refuse_too_many(const Shape& shape, const std::vector<Wish>& wishes, const Shape& sizes,
                     const std::string& operation) {
  double chunks = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Wish& wish = wishes[axis];
    const Index size = wish.size > 0 ? wish.size : sizes[axis];
    if (!wish.extents.empty())
      chunks *= static_cast<double>(wish.extents.size());
    else if (size > 0)
      chunks *=
          std::max(1.0, std::ceil(static_cast<double>(shape[axis]) / static_cast<double>(size)));
  }
  if (chunks > kMostChunks)
    wrong_value(
        fmt::format("[{}] the shape {} in {:.3g} chunks; a tensor has at most {:.0f}, so "
                    "make them larger (chunk_size)",
                    operation, text(shape), chunks, kMostChunks));
}

/// The pieces as one, if they lie in the same memory as they would in one array and its rows have
/// no gaps: those of a transposed array are worth moving.
Array seen_as_one(const KernelContext& context, const Shape& shape, const Ints& pieces) {
  const std::size_t ndim = shape.size();
  const Array& first = context.input(static_cast<std::size_t>(pieces[0]));
  if (ndim == 0 || first.strides().back() != static_cast<Index>(first.item_size())) return {};
  const auto corner = [&](const std::int64_t* piece, const Array& input) {
    Index offset = 0;
    for (std::size_t axis = 0; axis < ndim; ++axis)
      offset += (piece[1 + axis] - piece[1 + 2 * ndim + axis]) * first.strides()[axis];
    return input.data() + offset;
  };
  for (std::size_t at = 0; at < pieces.size(); at += 1 + 3 * ndim) {
    const Array& input = context.input(static_cast<std::size_t>(pieces[at]));
    if (!first.owner() || input.owner() != first.owner() || input.strides() != first.strides() ||
        corner(&pieces[at], input) != corner(pieces.data(), first))
      return {};
  }
  return first.view(shape, first.strides(), corner(pieces.data(), first) - first.data());
}

constexpr KernelRow kPickUp{
    "rechunk", [](KernelContext& context) {
      // Pieces come as (input, source start..., extents..., target start...).
      const Ints& shape = context.attributes().get<Ints>("shape");
      const Ints& pieces = context.attributes().get<Ints>("pieces");
      const std::size_t ndim = shape.size();
      const std::size_t width = 1 + 3 * ndim;
      const auto part = [&](const std::int64_t* at) { return Shape(at, at + ndim); };
      if (context.inputs().size() == 1 && pieces.size() == width) {
        context.set(context.input(0).slice(part(&pieces[1]), part(&pieces[1 + ndim])));
        return;
      }
      if (Array one = seen_as_one(context, shape, pieces)) {
        context.set(std::move(one));
        return;
      }
      Array out = context.make(context.input(0).dtype(), shape);
      for (std::size_t at = 0; at < pieces.size(); at += width) {
        const Array from = context.input(static_cast<std::size_t>(pieces[at]))
                               .slice(part(&pieces[at + 1]), part(&pieces[at + 1 + ndim]));
        Array to = out.slice(part(&pieces[at + 1 + 2 * ndim]), from.shape());
        copy_items(from, to);
      }
      context.set(std::move(out));
    }};

/// Along one axis: which old pieces a new one is made of.
struct Overlap {
  Index source;        ///< number of the old piece
  Index source_start;  ///< in the old piece
  Index extent;
  Index target_start;  ///< in the new piece
};

std::vector<std::vector<Overlap>> overlaps(const std::vector<Index>& from,
                                           const std::vector<Index>& to) {
  std::vector<std::vector<Overlap>> out(to.size());
  std::size_t source = 0;
  Index source_start = 0;
  for (std::size_t target = 0; target < to.size(); ++target) {
    Index target_start = 0;
    while (target_start < to[target]) {
      const Index extent = std::min(to[target] - target_start, from[source] - source_start);
      if (extent > 0)
        out[target].push_back({static_cast<Index>(source), source_start, extent, target_start});
      target_start += extent;
      source_start += extent;
      if (source_start == from[source] && source + 1 < from.size()) {
        ++source;
        source_start = 0;
      }
    }
    if (out[target].empty())
      out[target].push_back({static_cast<Index>(std::min(source, from.size() - 1)), 0, 0, 0});
  }
  return out;
}

}  // namespace

void register_rechunk_kernel(Registry& registry) { registry.add(kPickUp); }

void check_chunk_size(const Shape& shape, const Attribute::Value* chunk_size,
                      const std::string& operation) {
  (void)wishes_of(shape, chunk_size, operation);
}

std::vector<Index> even_split(Index extent, Index size) {
  std::vector<Index> out;
  for (Index left = extent; left > 0; left -= size) out.push_back(std::min(left, size));
  if (out.empty()) out.push_back(0);
  return out;
}

Splits decide_splits(const Shape& shape, std::size_t item_size, const Attribute::Value* chunk_size,
                     std::size_t limit, const std::string& operation) {
  const std::vector<Wish> wishes = wishes_of(shape, chunk_size, operation);
  double bytes = static_cast<double>(item_size);
  std::vector<std::size_t> free;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Wish& wish = wishes[axis];
    if (!wish.extents.empty())
      bytes *= static_cast<double>(
          std::max<Index>(1, *std::max_element(wish.extents.begin(), wish.extents.end())));
    else if (wish.size > 0)
      bytes *= static_cast<double>(std::min(wish.size, std::max<Index>(shape[axis], 1)));
    else
      free.push_back(axis);
  }
  // Axes shorter than their share leave more for the others.
  Shape sizes(shape.size(), 0);
  std::sort(free.begin(), free.end(),
            [&](std::size_t a, std::size_t b) { return shape[a] < shape[b]; });
  for (std::size_t i = 0; i < free.size(); ++i) {
    const double share = std::pow(std::max(1.0, static_cast<double>(limit) / bytes),
                                  1.0 / static_cast<double>(free.size() - i));
    const Index size =
        std::clamp<Index>(static_cast<Index>(share), 1, std::max<Index>(shape[free[i]], 1));
    sizes[free[i]] = size;
    bytes *= static_cast<double>(size);
  }
  refuse_too_many(shape, wishes, sizes, operation);
  Splits splits;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Wish& wish = wishes[axis];
    splits.push_back(wish.extents.empty()
                         ? even_split(shape[axis], wish.size > 0 ? wish.size : sizes[axis])
                         : wish.extents);
  }
  return splits;
}

Splits decide_splits(const Shape& shape, std::size_t item_size, const Attribute::Value* chunk_size,
                     const Options& options, const std::string& operation) {
  // Below a mebibyte the cost of a task shows; above sixteen, a chunk has left the caches before it
  // is read.
  constexpr std::size_t kSmall = 1u << 20;
  constexpr std::size_t kLarge = 16u << 20;
  constexpr std::size_t kChunksPerThread = 4;
  const std::size_t whole = static_cast<std::size_t>(volume(shape)) * item_size;
  const std::size_t fair = whole / (kChunksPerThread * std::max<std::size_t>(options.threads, 1));
  const std::size_t limit = std::min(options.chunk_store_limit, std::clamp(fair, kSmall, kLarge));
  return decide_splits(shape, item_size, chunk_size, limit, operation);
}

std::vector<Index> common_split(const std::vector<Index>& a, const std::vector<Index>& b) {
  if (a == b) return a;
  std::vector<Index> ends;
  for (const auto* extents : {&a, &b}) {
    Index end = 0;
    for (const Index extent : *extents) ends.push_back(end += extent);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::vector<Index> out;
  Index start = 0;
  for (const Index end : ends) {
    if (end > start || ends.size() == 1) out.push_back(end - start);
    start = end;
  }
  return out;
}

namespace {

Tiled rechunk_once(TileContext& context, const Tiled& input, DType dtype, const Splits& target) {
  const std::size_t ndim = target.size();
  std::vector<std::vector<std::vector<Overlap>>> along;
  for (std::size_t axis = 0; axis < ndim; ++axis)
    along.push_back(overlaps(input.splits[axis], target[axis]));
  const Shape from_grid = grid_of(input.splits);

  Tiled out{target, {}};
  for_each_position(grid_of(target), [&](const Shape& position) {
    Shape counts;
    for (std::size_t axis = 0; axis < ndim; ++axis)
      counts.push_back(
          static_cast<Index>(along[axis][static_cast<std::size_t>(position[axis])].size()));
    const Shape extents = extents_at(target, position);
    std::vector<ChunkRef> inputs;
    Ints pieces;
    for_each_position(counts, [&](const Shape& which) {
      Shape source;
      Ints starts;
      Ints sizes;
      Ints targets;
      for (std::size_t axis = 0; axis < ndim; ++axis) {
        const Overlap& overlap = along[axis][static_cast<std::size_t>(position[axis])]
                                      [static_cast<std::size_t>(which[axis])];
        source.push_back(overlap.source);
        starts.push_back(overlap.source_start);
        sizes.push_back(overlap.extent);
        targets.push_back(overlap.target_start);
      }
      pieces.push_back(static_cast<Index>(inputs.size()));
      for (const Ints* part : {&starts, &sizes, &targets})
        pieces.insert(pieces.end(), part->begin(), part->end());
      inputs.push_back(input.chunks[number_of(source, from_grid)]);
    });
    if (inputs.size() == 1 && context.meta(inputs.front()).shape == extents) {
      out.chunks.push_back(inputs.front());
      return;
    }
    out.chunks.push_back(context.emit(kPickUp,
                                      {{"shape", Ints(extents)}, {"pieces", std::move(pieces)}},
                                      std::move(inputs), {dtype, extents}));
  });
  return out;
}

}  // namespace

Tiled rechunk(TileContext& context, const Tiled& input, DType dtype, const Splits& target) {
  if (input.splits == target) return input;
  MUSTER_ASSERT(shape_of(input.splits) == shape_of(target), "a rechunk keeps the shape");
  const Options& options = context.options();
  Tiled tiled = input;
  for (const Splits& step :
       plan_rechunk(input.splits, target, item_size(dtype),
                    {options.rechunk_threshold, options.rechunk_chunk_size_limit}))
    tiled = rechunk_once(context, tiled, dtype, step);
  return tiled;
}

}  // namespace muster::engine
