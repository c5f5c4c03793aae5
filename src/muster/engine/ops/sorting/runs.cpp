#include "muster/engine/ops/sorting/runs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <numeric>

#include <hwy/contrib/sort/vqsort.h>

#include "muster/base/assert.h"

namespace muster::engine {

struct KeySorter::Scratch {
  hwy::Sorter sorter;
};

KeySorter::KeySorter() : scratch_(std::make_unique<Scratch>()) {}
KeySorter::~KeySorter() = default;

namespace {

// Below this the set-up of the vector sort costs more than it gains.
constexpr std::size_t kFew = 32;

}  // namespace

void KeySorter::sort(std::uint8_t* keys, std::size_t count) {
  if (count < kFew) return std::sort(keys, keys + count);
  std::array<std::size_t, 256> counts{};
  for (std::size_t i = 0; i < count; ++i) ++counts[keys[i]];
  for (std::size_t key = 0; key < counts.size(); ++key)
    keys = std::fill_n(keys, counts[key], static_cast<std::uint8_t>(key));
}

void KeySorter::sort(std::uint16_t* keys, std::size_t count) {
  if (count < kFew) return std::sort(keys, keys + count);
  scratch_->sorter(keys, count, hwy::SortAscending());
}
void KeySorter::sort(std::uint32_t* keys, std::size_t count) {
  if (count < kFew) return std::sort(keys, keys + count);
  scratch_->sorter(keys, count, hwy::SortAscending());
}
void KeySorter::sort(std::uint64_t* keys, std::size_t count) {
  if (count < kFew) return std::sort(keys, keys + count);
  scratch_->sorter(reinterpret_cast<uint64_t*>(keys), count, hwy::SortAscending());
}
void KeySorter::sort(Pair* keys, std::size_t count) {
  static_assert(sizeof(hwy::uint128_t) == sizeof(Pair));
  if (count < kFew) return std::sort(keys, keys + count, KeyLess<Pair>());
  scratch_->sorter(reinterpret_cast<hwy::uint128_t*>(keys), count, hwy::SortAscending());
}
void KeySorter::sort(std::complex<float>* keys, std::size_t count) {
  std::sort(keys, keys + count, KeyLess<std::complex<float>>());
}
void KeySorter::sort(std::complex<double>* keys, std::size_t count) {
  std::sort(keys, keys + count, KeyLess<std::complex<double>>());
}

template <class T>
std::vector<Index> cut_runs(const std::vector<std::span<const T>>& runs, Index rank) {
  const KeyLess<T> less;
  const std::size_t count = runs.size();
  std::vector<Index> low(count, 0);
  std::vector<Index> high(count);
  Index all = 0;
  for (std::size_t i = 0; i < count; ++i) all += high[i] = static_cast<Index>(runs[i].size());
  if (rank <= 0) return low;
  if (rank >= all) return high;
  // Each round takes the weighted median of what is between the bounds of each run as a pivot and
  // counts what is less: a quarter of what is left is out at least. A million rounds would mean
  // that keys have no order.
  for (int round = 0; round < 1'000'000; ++round) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < count; ++i)
      if (low[i] < high[i]) open.push_back(i);
    if (open.empty()) return low;
    const auto middle = [&](std::size_t i) -> const T& {
      return runs[i][static_cast<std::size_t>(low[i] + (high[i] - low[i]) / 2)];
    };
    std::sort(open.begin(), open.end(), [&](std::size_t x, std::size_t y) {
      if (less(middle(x), middle(y))) return true;
      return !less(middle(y), middle(x)) && x < y;
    });
    Index weight = 0;
    for (const std::size_t i : open) weight += high[i] - low[i];
    std::size_t chosen = open.front();
    Index before = 0;
    for (const std::size_t i : open) {
      chosen = i;
      before += high[i] - low[i];
      if (2 * before >= weight) break;
    }
    const T pivot = middle(chosen);
    const Index place = low[chosen] + (high[chosen] - low[chosen]) / 2;
    std::vector<Index> at(count);
    Index smaller = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = runs[i].begin();
      if (i == chosen)
        at[i] = place;
      else if (i < chosen)
        at[i] = std::upper_bound(begin, runs[i].end(), pivot, less) - begin;
      else
        at[i] = std::lower_bound(begin, runs[i].end(), pivot, less) - begin;
      smaller += at[i];
    }
    if (smaller < rank) {  // the pivot itself lies before the cut
      for (std::size_t i = 0; i < count; ++i)
        low[i] = std::max(low[i], i == chosen ? place + 1 : at[i]);
    } else {
      for (std::size_t i = 0; i < count; ++i) high[i] = std::min(high[i], at[i]);
    }
    for (std::size_t i = 0; i < count; ++i) high[i] = std::max(high[i], low[i]);
  }
  MUSTER_ASSERT(false, "cutting runs comes to an end");
  return low;
}

namespace {

/// From both ends at once: two chains of comparisons that do not wait for each other, and no
/// branches. Equal items of `a` come first.
template <class T>
void merge_two(std::span<const T> a, std::span<const T> b, T* out) {
  const KeyLess<T> less;
  const std::size_t half = std::min(a.size(), b.size());
  const T* left = a.data();
  const T* right = b.data();
  const T* left_end = a.data() + a.size();
  const T* right_end = b.data() + b.size();
  T* front = out;
  T* back = out + a.size() + b.size();
  // Neither end can run out in as many steps as the shorter has items, taken from both ends.
  for (std::size_t step = 0; step < half / 2; ++step) {
    const T first = *left;
    const T second = *right;
    const bool from_right = less(second, first);
    *front++ = from_right ? second : first;
    right += from_right;
    left += !from_right;
    const T last = left_end[-1];
    const T other = right_end[-1];
    const bool from_left = less(other, last);
    *--back = from_left ? last : other;
    left_end -= from_left;
    right_end -= !from_left;
  }
  while (left != left_end && right != right_end) {
    const T first = *left;
    const T second = *right;
    const bool from_right = less(second, first);
    *front++ = from_right ? second : first;
    right += from_right;
    left += !from_right;
  }
  front = std::copy(left, left_end, front);
  std::copy(right, right_end, front);
}

/// Pairs, then pairs of pairs; the runs are not empty. `scratch` is as long as `out`.
template <class T>
void merge_in_rounds(std::vector<std::span<const T>> runs, T* out, T* scratch) {
  if (runs.size() == 1) {
    std::copy(runs.front().begin(), runs.front().end(), out);
    return;
  }
  // The last round must end in `out`.
  const int rounds = std::bit_width(runs.size() - 1);
  T* to = rounds % 2 == 1 ? out : scratch;
  while (runs.size() > 1) {
    std::vector<std::span<const T>> next;
    T* at = to;
    for (std::size_t i = 0; i < runs.size(); i += 2) {
      std::size_t size = runs[i].size();
      if (i + 1 < runs.size()) {
        size += runs[i + 1].size();
        merge_two<T>(runs[i], runs[i + 1], at);
      } else {
        std::copy(runs[i].begin(), runs[i].end(), at);
      }
      next.emplace_back(at, size);
      at += size;
    }
    runs = std::move(next);
    to = to == out ? scratch : out;
  }
}

/// Takes the first `count` items of all runs together away from them.
template <class T>
std::vector<std::span<const T>> take_first(std::vector<std::span<const T>>& runs,
                                           std::size_t count) {
  std::vector<std::span<const T>> heads;
  for (const auto& run : runs) heads.push_back(run.first(std::min(run.size(), count)));
  const std::vector<Index> cuts = cut_runs<T>(heads, static_cast<Index>(count));
  std::vector<std::span<const T>> taken;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto cut = static_cast<std::size_t>(cuts[i]);
    if (cut > 0) taken.push_back(runs[i].first(cut));
    runs[i] = runs[i].subspan(cut);
  }
  return taken;
}

}  // namespace

template <class T>
void merge_runs(std::vector<std::span<const T>> runs, T* out) {
  // Every round reads and writes all items: in the cache, if there are not more of them at a time.
  // With fewer of each run it would take longer to find them than to merge them.
  constexpr std::size_t kBlock = (std::size_t{256} << 10) / sizeof(T);
  constexpr std::size_t kOfEach = 2048;
  std::erase_if(runs, [](const auto& run) { return run.empty(); });
  if (runs.empty()) return;
  if (runs.size() <= 2) return merge_in_rounds<T>(std::move(runs), out, nullptr);
  std::size_t left = 0;
  for (const auto& run : runs) left += run.size();
  const std::size_t block = std::min(left, std::max(kBlock, kOfEach * runs.size()));
  const auto scratch = std::make_unique_for_overwrite<T[]>(block);
  while (left > 0) {
    const std::size_t count = std::min(left, block);
    merge_in_rounds<T>(take_first<T>(runs, count), out, scratch.get());
    out += count;
    left -= count;
  }
}

namespace {

template <class T>
void order(std::span<const T> keys, std::int64_t* numbers) {
  std::iota(numbers, numbers + keys.size(), std::int64_t{0});
  const auto key = [&](std::int64_t number) { return keys[static_cast<std::size_t>(number)]; };
  const KeyLess<T> less;
  std::sort(numbers, numbers + keys.size(), [&](std::int64_t x, std::int64_t y) {
    if (less(key(x), key(y))) return true;
    return !less(key(y), key(x)) && x < y;
  });
}

}  // namespace

void order_complex(std::span<const std::complex<float>> keys, std::int64_t* numbers) {
  order(keys, numbers);
}

void order_complex(std::span<const std::complex<double>> keys, std::int64_t* numbers) {
  order(keys, numbers);
}

#define MUSTER_KEYS(T)                                                                 \
  template std::vector<Index> cut_runs<T>(const std::vector<std::span<const T>>& runs, \
                                          Index rank);                                 \
  template void merge_runs<T>(std::vector<std::span<const T>> runs, T * out);
MUSTER_FOR_KEYS(MUSTER_KEYS)
#undef MUSTER_KEYS

}  // namespace muster::engine
