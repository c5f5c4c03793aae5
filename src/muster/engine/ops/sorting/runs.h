#pragma once

#include <memory>
#include <span>
#include <vector>

#include "muster/engine/ops/sorting/keys.h"

namespace muster::engine {

/// Sorts keys in place. Keeps its scratch memory from call to call; one thread at a time.
class KeySorter {
 public:
  KeySorter();
  ~KeySorter();
  KeySorter(const KeySorter&) = delete;
  KeySorter& operator=(const KeySorter&) = delete;

  void sort(std::uint8_t* keys, std::size_t count);
  void sort(std::uint16_t* keys, std::size_t count);
  void sort(std::uint32_t* keys, std::size_t count);
  void sort(std::uint64_t* keys, std::size_t count);
  void sort(Pair* keys, std::size_t count);
  void sort(std::complex<float>* keys, std::size_t count);
  void sort(std::complex<double>* keys, std::size_t count);

 private:
  struct Scratch;
  std::unique_ptr<Scratch> scratch_;
};

/// The numbers of complex keys in the order of these, equal ones in their own.
void order_complex(std::span<const std::complex<float>> keys, std::int64_t* numbers);
void order_complex(std::span<const std::complex<double>> keys, std::int64_t* numbers);

/// Where each of several sorted runs is to be cut so that `rank` items lie before the cuts, and
/// none of them is greater than one behind. Of equal items those of earlier runs come first.
template <class T>
[[nodiscard]] std::vector<Index> cut_runs(const std::vector<std::span<const T>>& runs, Index rank);

/// Sorted runs made one, with some 100 KiB on the side if they are more than two. Equal items stay
/// in the order of the runs.
template <class T>
void merge_runs(std::vector<std::span<const T>> runs, T* out);

}  // namespace muster::engine
