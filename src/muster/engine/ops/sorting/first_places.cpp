#include "muster/engine/ops/sorting/first_places.h"

#include <algorithm>
#include <span>
#include <utility>

#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/sorting/distinct.h"
#include "muster/engine/ops/sorting/runs.h"
#include "muster/engine/ops/sorting/sort_plan.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// Numbers of the keys in the order of these, equal ones in their own.
Array order_of(const Array& keys, Memory& memory) {
  const Index size = keys.size();
  Array order(memory, Type::i64, {size});
  auto* const numbers = order.mutable_as<std::int64_t>();
  with_key(keys.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    const T* const key = keys.as<T>();
    if constexpr (std::is_unsigned_v<T>) {
      Array pairs(memory, Type::c128, {size});
      auto* const items = reinterpret_cast<Pair*>(pairs.mutable_data());
      for (Index i = 0; i < size; ++i) items[i] = {static_cast<std::uint64_t>(i), key[i]};
      KeySorter().sort(items, static_cast<std::size_t>(size));
      for (Index i = 0; i < size; ++i) numbers[i] = static_cast<std::int64_t>(items[i].place);
    } else {
      order_complex({key, static_cast<std::size_t>(size)}, numbers);
    }
  });
  return order;
}

/// The different keys in order, where each is first, and how often it comes.
template <class T>
class Different {
 public:
  Different(Type key, Index most, Memory& memory)
      : keys_(memory, key, {most}),
        places_(memory, Type::i64, {most}),
        counts_(memory, Type::i64, {most}) {}

  /// Keys come in order, and of equal ones the first place first.
  void add(const T& key, std::int64_t place, std::int64_t count) {
    if (found_ == 0 || !same_key(keys_.mutable_as<T>()[found_ - 1], key)) {
      keys_.mutable_as<T>()[found_] = key;
      places_.mutable_as<std::int64_t>()[found_] = place;
      counts_.mutable_as<std::int64_t>()[found_++] = 0;
    }
    counts_.mutable_as<std::int64_t>()[found_ - 1] += count;
  }
  void give(KernelContext& context) const {
    context.set(0, shortened(keys_, found_, context.memory()));
    context.set(1, shortened(places_, found_, context.memory()));
    context.set(2, shortened(counts_, found_, context.memory()));
  }

 private:
  Array keys_;
  Array places_;
  Array counts_;
  Index found_ = 0;
};

/// Keys that lie close together, through a table.
template <class T>
void count_close(KernelContext& context, std::span<const T> keys, const KeyRange<T>& range,
                 std::int64_t start) {
  struct Seen {
    std::int64_t place;
    std::int64_t count;
  };
  std::vector<Seen> table(range.count, Seen{0, 0});
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Seen& seen = table[static_cast<std::size_t>(keys[i] - range.least)];
    if (seen.count++ == 0) seen.place = start + static_cast<std::int64_t>(i);
  }
  Different<T> different(kTypeOf<T>, static_cast<Index>(range.count), context.memory());
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].count > 0)
      different.add(static_cast<T>(range.least + i), table[i].place, table[i].count);
  different.give(context);
}

/// Of one chunk, whose first item has the place `start`. Without `places` these are not to be
/// known, which saves sorting them.
void run_places(KernelContext& context) {
  const auto start = context.attributes().get<std::int64_t>("start");
  const bool wants_places = context.attributes().get<bool>("places");
  Array keys = encoded(context.input(0), true, context.memory());
  with_key(keys.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> all(keys.mutable_as<T>(), static_cast<std::size_t>(keys.size()));
    if constexpr (std::is_unsigned_v<T>)
      if (const auto range = close_range<T>(all))
        return count_close<T>(context, all, *range, start);
    Different<T> different(keys.dtype().type, keys.size(), context.memory());
    if (wants_places) {
      const Array order = order_of(keys, context.memory());
      for (Index i = 0; i < order.size(); ++i) {
        const std::int64_t number = order.as<std::int64_t>()[i];
        different.add(all[static_cast<std::size_t>(number)], start + number, 1);
      }
    } else {
      KeySorter().sort(all.data(), all.size());
      for (const T& key : all) different.add(key, 0, 1);
    }
    different.give(context);
  });
}
constexpr KernelRow kPlaces{"first_places", run_places};

/// Of several chunks in their order. Inputs: the keys of all, then the places, then the counts.
void run_join(KernelContext& context) {
  const std::size_t chunks = context.inputs().size() / 3;
  const auto all = [&](std::size_t which) {
    return joined(std::span(context.inputs()).subspan(which * chunks, chunks), context.memory());
  };
  const Array keys = all(0);
  const Array places = all(1);
  const Array counts = all(2);
  const Array order = order_of(keys, context.memory());
  with_key(keys.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    Different<T> different(keys.dtype().type, keys.size(), context.memory());
    for (Index i = 0; i < keys.size(); ++i) {
      const std::int64_t number = order.as<std::int64_t>()[i];
      different.add(keys.as<T>()[number], places.as<std::int64_t>()[number],
                    counts.as<std::int64_t>()[number]);
    }
    different.give(context);
  });
}
constexpr KernelRow kJoin{"join_first_places", run_join};

std::vector<Meta> infer_places(const Call& call) {
  check_vector(call);
  return {{Type::i64, {kUnknown}}, {Type::i64, {kUnknown}}};
}

/// Joins the chunks' different items as a tree, so that what is large but has few of them never is
/// in one place.
TileResult tile_places(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const DType dtype = context.input_meta(0).dtype;
  const bool wants_places = context.attributes().get<bool>("places", true);
  const std::vector<Index> pieces =
      sorting_runs(context.options(), context.input(0).splits[0], sizeof(Pair));
  const Tiled cut = rechunk(context, context.input(0), dtype, {pieces});
  const std::vector<Meta> metas = {
      {key_type(dtype.type), {kUnknown}}, {Type::i64, {kUnknown}}, {Type::i64, {kUnknown}}};
  std::vector<std::uint32_t> tasks;
  Index start = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    tasks.push_back(context.emit_many(kPlaces, {{"start", start}, {"places", wants_places}},
                                      {cut.chunks[i]}, metas));
    start += pieces[i];
  }
  const auto fan_in = static_cast<std::size_t>(std::max(2, context.options().combine_size));
  while (tasks.size() > 1) {
    std::vector<std::uint32_t> joined;
    for (std::size_t begin = 0; begin < tasks.size(); begin += fan_in) {
      const std::size_t end = std::min(begin + fan_in, tasks.size());
      std::vector<ChunkRef> inputs;
      for (std::uint32_t output = 0; output < 3; ++output)
        for (std::size_t i = begin; i < end; ++i) inputs.push_back({tasks[i], output});
      joined.push_back(context.emit_many(kJoin, {}, std::move(inputs), metas));
    }
    tasks = std::move(joined);
  }
  return std::vector<Tiled>{{{{kUnknown}}, {{tasks.front(), 1}}},
                            {{{kUnknown}}, {{tasks.front(), 2}}}};
}

constexpr OperatorRow kRow{.name = "unique_places",
                           .summary = "where each different item is first, and how often it comes",
                           .family = Family::sorting,
                           .infer = infer_places,
                           .tile = tile_places};

}  // namespace

void register_first_places(Registry& registry) {
  registry.add(kRow);
  registry.add(kPlaces);
  registry.add(kJoin);
}

}  // namespace muster::engine
