#include "muster/engine/ops/statistics/select.h"

#include <bit>
#include <cstring>
#include <numeric>

#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/statistics/joined_counts.h"
#include "muster/engine/ops/statistics/quantile_items.h"

namespace muster::engine {

namespace {

constexpr std::size_t kBins = 1u << 16;
constexpr std::size_t kNan = kBins;  ///< where NaNs are counted

/// The bin of an item: greater items never have a lower one. Sign, exponent and the first bits of
/// the fraction, so that bins are fine wherever values are.
template <class T>
std::size_t bin_of(T item) {
  const auto value = static_cast<double>(item);
  if (value != value) return kNan;
  const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return static_cast<std::size_t>(((bits & kSign) != 0 ? ~bits : bits | kSign) >> 48);
}

/// The bin of each rank, and how many items are in bins before it.
struct Placed {
  std::size_t bin;
  Index before;
};

class Counts {
 public:
  explicit Counts(const Array& counts) : counts_(counts.as<Index>()) {
    total_ = std::accumulate(counts_, counts_ + kBins, Index{0});
  }
  [[nodiscard]] Index numbers() const { return total_; }
  [[nodiscard]] Index nans() const { return counts_[kNan]; }
  [[nodiscard]] Index in(std::size_t bin) const { return counts_[bin]; }
  [[nodiscard]] Placed place(Index rank) const {
    Index before = 0;
    std::size_t bin = 0;
    while (bin + 1 < kBins && before + counts_[bin] <= rank) before += counts_[bin++];
    return {bin, before};
  }

 private:
  const Index* counts_;  ///< of the caller's array
  Index total_ = 0;
};

bool has_answer(const QuantilesWanted& wanted, const Counts& counts) {
  return counts.numbers() > 0 && (counts.nans() == 0 || wanted.skip_nan);
}

/// For each bin, whether an item of a wanted rank is in it.
std::vector<std::uint8_t> wanted_bins(const QuantilesWanted& wanted, const Counts& counts) {
  std::vector<std::uint8_t> bins(kBins + 1, 0);
  if (!has_answer(wanted, counts)) return bins;
  for (const double q : wanted.q) {
    const Rank rank = rank_of(wanted.method, counts.numbers(), q);
    bins[counts.place(rank.before).bin] = 1;
    bins[counts.place(rank.after).bin] = 1;
  }
  return bins;
}

void run_select_count(KernelContext& context) {
  const Array& input = context.input(0);
  const Type type = compared_as(input.dtype().type);
  const Array items = gapless(input, type, context.memory());
  Array out = context.make(Type::i64, {static_cast<Index>(kBins + 1)});
  auto* const counts = out.mutable_as<Index>();
  std::fill_n(counts, out.size(), 0);
  with_compared(type, [&](auto example) {
    const auto* const at = items.as<decltype(example)>();
    for (Index i = 0; i < items.size(); ++i) ++counts[bin_of(at[i])];
  });
  context.set(std::move(out));
}
constexpr KernelRow kSelectCount{"select_count", run_select_count};

/// Inputs: a chunk, and the counts of all.
void run_collect(KernelContext& context) {
  const QuantilesWanted wanted(context.attributes());
  const Array& input = context.input(0);
  const Type type = compared_as(input.dtype().type);
  const Array items = gapless(input, type, context.memory());
  const std::vector<std::uint8_t> bins = wanted_bins(wanted, Counts(context.input(1)));
  with_compared(type, [&](auto example) {
    using T = decltype(example);
    const T* const at = items.as<T>();
    std::vector<T> found;
    for (Index i = 0; i < items.size(); ++i)
      if (bins[bin_of(at[i])] != 0) found.push_back(at[i]);
    Array out = context.make(type, {static_cast<Index>(found.size())});
    if (!found.empty()) std::memcpy(out.mutable_data(), found.data(), out.nbytes());
    context.set(std::move(out));
  });
}
constexpr KernelRow kCollect{"select_collect", run_collect};

/// Where a rank is among the collected items, which come from several bins.
Index among_collected(const Counts& counts, const std::vector<std::uint8_t>& bins, Index rank) {
  const Placed placed = counts.place(rank);
  Index before = 0;
  for (std::size_t bin = 0; bin < placed.bin; ++bin)
    if (bins[bin] != 0) before += counts.in(bin);
  return before + rank - placed.before;
}

/// Inputs: the counts of all, and what was collected from each chunk.
void run_select(KernelContext& context) {
  const QuantilesWanted wanted(context.attributes());
  const Counts counts(context.input(0));
  const std::vector<std::uint8_t> bins = wanted_bins(wanted, counts);
  const Type type = context.input(1).dtype().type;
  const QuantileWriter writer(wanted, type);
  Array out = context.make(wanted.dtype, context.attributes().get<Ints>("shape"));
  const auto at = [&](std::size_t number) { return out.mutable_data() + number * out.item_size(); };
  with_compared(type, [&](auto example) {
    using T = decltype(example);
    std::vector<T> items;
    for (std::size_t i = 1; i < context.inputs().size(); ++i)
      items.insert(items.end(), context.input(i).as<T>(),
                   context.input(i).as<T>() + context.input(i).size());
    const bool answers = has_answer(wanted, counts);
    std::vector<Index> places;
    for (std::size_t i = 0; answers && i < wanted.q.size(); ++i) {
      const Rank rank = rank_of(wanted.method, counts.numbers(), wanted.q[i]);
      places.push_back(among_collected(counts, bins, rank.before));
      places.push_back(among_collected(counts, bins, rank.after));
    }
    place_ranks(items.data(), static_cast<Index>(items.size()), places);
    for (std::size_t i = 0; i < wanted.q.size(); ++i) {
      if (!answers) {
        writer.put_none(at(i));
        continue;
      }
      const Rank rank = rank_of(wanted.method, counts.numbers(), wanted.q[i]);
      writer.put(items[static_cast<std::size_t>(places[2 * i])],
                 items[static_cast<std::size_t>(places[2 * i + 1])], rank.share, at(i));
    }
  });
  context.set(std::move(out));
}
constexpr KernelRow kSelect{"select", run_select};

}  // namespace

ChunkRef select_over_chunks(TileContext& context, const Tiled& input, const Attributes& attributes,
                            const Meta& result) {
  std::vector<ChunkRef> parts;
  const Meta counts{Type::i64, {static_cast<Index>(kBins + 1)}};
  for (const ChunkRef chunk : input.chunks)
    parts.push_back(context.emit(kSelectCount, {}, {chunk}, counts));
  const ChunkRef all = join_counts(context, std::move(parts), 0);
  const Meta collected{compared_as(context.meta(input.chunks.front()).dtype.type), {kUnknown}};
  std::vector<ChunkRef> inputs = {all};
  for (const ChunkRef chunk : input.chunks)
    inputs.push_back(context.emit(kCollect, attributes, {chunk, all}, collected));
  return context.emit(kSelect, attributes.with("shape", Ints(result.shape)), std::move(inputs),
                      result);
}

void register_select(Registry& registry) {
  registry.add(kSelectCount);
  registry.add(kCollect);
  registry.add(kSelect);
}

}  // namespace muster::engine
