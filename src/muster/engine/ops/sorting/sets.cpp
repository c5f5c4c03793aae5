#include "muster/engine/ops/sorting/sets.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/kernels/ufunc.h"
#include "muster/engine/ops/sorting/distinct.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

Tiled in_one_chunk(TileContext& context, std::size_t input) {
  return rechunk(context, context.input(input), context.input_meta(input).dtype,
                 {{context.input_meta(input).shape[0]}});
}

/// Inputs: sorted items, and items to look up. Gives places. With `one_nan` all kinds of NaN are
/// the same item, as they are in a set.
void run_search(KernelContext& context) {
  Memory& memory = context.memory();
  const auto dtype = context.attributes().get<DType>("dtype");
  const bool right = context.attributes().get<bool>("right");
  const bool one_nan = context.attributes().get<bool>("one_nan");
  const Array sorted = encoded(converted(context.input(0), dtype, memory), true, memory);
  const Array items = encoded(converted(context.input(1), dtype, memory), true, memory);
  Array out = context.make(Type::i64, items.shape());
  with_key(sorted.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    const T* const begin = sorted.as<T>();
    const T* const end = begin + sorted.size();
    const auto less = [&](const T& a, const T& b) {
      return KeyLess<T>()(a, b) && !(one_nan && is_nan_key(a) && is_nan_key(b));
    };
    for (Index i = 0; i < items.size(); ++i) {
      const T& item = items.as<T>()[i];
      out.mutable_as<std::int64_t>()[i] = (right ? std::upper_bound(begin, end, item, less)
                                                 : std::lower_bound(begin, end, item, less)) -
                                          begin;
    }
  });
  context.set(std::move(out));
}
constexpr KernelRow kSearch{"searchsorted", run_search};

DType common(const Call& call) {
  const DType a = call.inputs[0].dtype();
  const DType b = call.inputs[1].dtype();
  const auto both = promote(a, b);
  if (!both)
    wrong_type(fmt::format("{}is not defined for {} and {}", call.prefix(), name(a), name(b)));
  return *both;
}

std::vector<Meta> infer_search(const Call& call) {
  if (call.inputs[0].ndim() != 1)
    wrong_value(fmt::format("{}the sorted tensor must have one axis: {}", call.prefix(),
                            text(call.inputs[0].shape())));
  (void)common(call);
  return {{Type::i64, call.inputs[1].shape()}};
}

/// Adds up places in the chunks of what is sorted: as many items are smaller in all of them.
void run_add(KernelContext& context) {
  Array out = context.make(Type::i64, context.input(0).shape());
  auto* const sums = out.mutable_as<std::int64_t>();
  std::fill_n(sums, out.size(), 0);
  for (const Array& places : context.inputs())
    for (Index i = 0; i < out.size(); ++i) sums[i] += places.as<std::int64_t>()[i];
  context.set(std::move(out));
}
constexpr KernelRow kAdd{"add_places", run_add};

/// In one chunk if that is not larger than chunks may be.
std::vector<ChunkRef> sorted_chunks(TileContext& context) {
  const Meta& meta = context.input_meta(0);
  const auto bytes = static_cast<std::size_t>(meta.shape[0]) * item_size(meta.dtype);
  if (bytes <= context.options().chunk_store_limit) return in_one_chunk(context, 0).chunks;
  return context.input(0).chunks;
}

TileResult tile_search(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const std::vector<ChunkRef> sorted = sorted_chunks(context);
  const Attributes attributes = {
      {"dtype", *promote(context.input_meta(0).dtype, context.input_meta(1).dtype)},
      {"right", context.attributes().get<bool>("right", false)},
      {"one_nan", context.attributes().get<bool>("one_nan", false)}};
  Tiled out{context.input(1).splits, {}};
  for (const ChunkRef chunk : context.input(1).chunks) {
    const Meta places = {Type::i64, context.meta(chunk).shape};
    std::vector<ChunkRef> found;
    for (const ChunkRef part : sorted)
      found.push_back(context.emit(kSearch, attributes, {part, chunk}, places));
    out.chunks.push_back(found.size() == 1 ? found.front()
                                           : context.emit(kAdd, {}, std::move(found), places));
  }
  return out;
}

/// Whether the item is NaN, which is never equal to anything.
template <class T>
bool is_never_equal(const T& key, Type type) {
  if constexpr (std::is_unsigned_v<T>)
    return (is_float(type) || is_time(type)) && key == std::numeric_limits<T>::max();
  else
    return is_nan_key(key);
}

/// Calls `f(i, found)` for each item of a chunk.
template <class F>
void look_up(const Array& items, const Array& sorted, Type type, F&& f) {
  with_key(sorted.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    const T* const begin = sorted.as<T>();
    const T* const end = begin + sorted.size();
    for (Index i = 0; i < items.size(); ++i) {
      const T& item = items.as<T>()[i];
      const T* const at = std::lower_bound(begin, end, item, KeyLess<T>());
      f(i, at != end && same_key(*at, item) && !is_never_equal(item, type));
    }
  });
}

/// Inputs: items, and sorted keys to test for.
void run_isin(KernelContext& context) {
  Memory& memory = context.memory();
  const auto dtype = context.attributes().get<DType>("dtype");
  const bool invert = context.attributes().get<bool>("invert");
  const Array items = encoded(converted(context.input(0), dtype, memory), true, memory);
  Array out = context.make(Type::b1, items.shape());
  look_up(items, context.input(1), dtype.type,
          [&](Index i, bool found) { out.mutable_as<bool>()[i] = found != invert; });
  context.set(std::move(out));
}
constexpr KernelRow kIsin{"isin", run_isin};

/// The items that are in the sorted keys, or (`invert`) that are not.
void run_keep(KernelContext& context) {
  Memory& memory = context.memory();
  const auto dtype = context.attributes().get<DType>("dtype");
  const bool invert = context.attributes().get<bool>("invert");
  Array kept = encoded(converted(context.input(0), dtype, memory), true, memory);
  const Array items = encoded(converted(context.input(0), dtype, memory), true, memory);
  Index size = 0;
  const std::size_t width = kept.item_size();
  look_up(items, context.input(1), dtype.type, [&](Index i, bool found) {
    if (found == invert) return;
    std::memcpy(kept.mutable_data() + static_cast<std::size_t>(size++) * width,
                items.data() + static_cast<std::size_t>(i) * width, width);
  });
  kept = shortened(kept, size, memory);
  context.set(decoded(std::move(kept), dtype, memory));
}
constexpr KernelRow kKeep{"keep_in_set", run_keep};

constexpr KernelRow kSortedKeys{
    "sorted_keys", [](KernelContext& context) {
      const auto dtype = context.attributes().get<DType>("dtype");
      Memory& memory = context.memory();
      std::vector<Array> parts;
      for (const Array& input : context.inputs())
        parts.push_back(encoded(converted(input, dtype, memory), true, memory));
      context.set(distinct_keys(joined(parts, memory), memory));
    }};

std::vector<Meta> infer_isin(const Call& call) {
  (void)common(call);
  return {{Type::b1, call.inputs[0].shape()}};
}

std::vector<Meta> infer_keep(const Call& call) {
  check_vector(call);
  return {{common(call), {kUnknown}}};
}

TileResult tile_in_set(TileContext& context) {
  const bool keeps = context.row().name == "keep_in_set";
  const DType dtype = *promote(context.input_meta(0).dtype, context.input_meta(1).dtype);
  const ChunkRef keys = context.emit(kSortedKeys, {{"dtype", dtype}}, context.input(1).chunks,
                                     {key_type(dtype.type), {kUnknown}});
  const Attributes attributes = {{"dtype", dtype},
                                 {"invert", context.attributes().get<bool>("invert", false)}};
  Tiled out{context.input(0).splits, {}};
  if (keeps) out.splits = {std::vector<Index>(context.input(0).chunks.size(), kUnknown)};
  for (const ChunkRef chunk : context.input(0).chunks)
    out.chunks.push_back(context.emit(
        keeps ? kKeep : kIsin, attributes, {chunk, keys},
        {keeps ? dtype : DType(Type::b1), keeps ? Shape{kUnknown} : context.meta(chunk).shape}));
  return out;
}

constexpr OperatorRow kSearchRow{.name = "searchsorted",
                                 .summary = "where items would go in a sorted tensor",
                                 .family = Family::sorting,
                                 .infer = infer_search,
                                 .tile = tile_search};
constexpr OperatorRow kIsinRow{.name = "isin",
                               .summary = "whether items are in a set",
                               .family = Family::sorting,
                               .infer = infer_isin,
                               .tile = tile_in_set};
constexpr OperatorRow kKeepRow{.name = "keep_in_set",
                               .summary = "the items of a vector that are in a set, or are not",
                               .family = Family::sorting,
                               .infer = infer_keep,
                               .tile = tile_in_set};

}  // namespace

Tensor isin(const Tensor& x, const Tensor& test, bool invert) {
  return apply_one(kIsinRow, {x, test}, {{"invert", invert}});
}
Tensor searchsorted(const Tensor& sorted, const Tensor& items, bool right) {
  return apply_one(kSearchRow, {sorted, items}, {{"right", right}});
}

void register_sets(Registry& registry) {
  for (const OperatorRow* row : {&kSearchRow, &kIsinRow, &kKeepRow}) registry.add(*row);
  for (const KernelRow* row : {&kAdd, &kSearch, &kIsin, &kKeep, &kSortedKeys}) registry.add(*row);
}

}  // namespace muster::engine
