#pragma once

#include "muster/engine/kernels/kernel.h"
#include "muster/engine/kernels/reducer.h"

namespace muster::engine {

/// The accumulators of a part of a reduction, with what joining needs to know: how many items each
/// has, and the extents of the chunk with ones for the reduced axes. It travels as an array of
/// bytes: the accumulators, then those numbers.
class Partial {
 public:
  /// Fresh, started accumulators.
  Partial(Memory& memory, const ReduceLoop& loop, const Shape& kept);
  /// What another task has made; `ndim` axes were kept or reduced. The array belongs to others.
  Partial(const Array& bytes, const ReduceLoop& loop, std::size_t ndim);

  /// How long the array is; kUnknown if an extent is.
  [[nodiscard]] static Index byte_count(const ReduceLoop& loop, const Shape& kept);

  [[nodiscard]] Index count() const { return volume(kept_); }
  [[nodiscard]] const Shape& kept() const { return kept_; }
  [[nodiscard]] Index items() const { return items_; }
  void set_items(Index items) { items_ = items; }
  [[nodiscard]] const std::byte* data() const { return array_.data(); }
  /// Only of fresh ones.
  [[nodiscard]] std::byte* mutable_data() { return array_.mutable_data(); }
  /// The bytes to send on.
  [[nodiscard]] Array packed();

 private:
  const ReduceLoop& loop_;  ///< a row of a registered reducer
  Shape kept_;
  Index items_ = 0;
  Array array_;
};

}  // namespace muster::engine
