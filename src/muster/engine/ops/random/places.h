#pragma once

#include <cstdint>
#include <utility>

#include "muster/engine/graph/attributes.h"
#include "muster/engine/value/shape.h"

namespace muster::engine::random {

/// Where a chunk lies in the whole array.
struct Place {
  Shape whole;
  Shape start;
  Shape extents;

  [[nodiscard]] static Place of(const Attributes& attributes) {
    return {attributes.get<Ints>("whole"), attributes.get<Ints>("start"),
            attributes.get<Ints>("extents")};
  }
};

/// The elements of a chunk in runs that lie one after the other both in the whole and in the chunk.
class Runs {
 public:
  explicit Runs(Place place) : place_(std::move(place)), strides_(c_strides(place_.whole, 1)) {
    outer_ = place_.whole.size();
    while (outer_ > 0 && place_.extents[outer_ - 1] == place_.whole[outer_ - 1])
      length_ *= place_.extents[--outer_];
    if (outer_ > 0) length_ *= place_.extents[--outer_];
    for (std::size_t axis = 0; axis < place_.whole.size(); ++axis)
      base_ += place_.start[axis] * strides_[axis];
  }

  /// Of each run; 0 if there are no elements.
  [[nodiscard]] Index length() const { return length_; }
  /// Which element of the whole, in C order, element `number` of the chunk is.
  [[nodiscard]] std::uint64_t operator[](Index number) const {
    Index run = number / length_;
    Index first = base_ + number % length_;
    for (std::size_t axis = outer_; axis-- > 0;) {
      first += run % place_.extents[axis] * strides_[axis];
      run /= place_.extents[axis];
    }
    return static_cast<std::uint64_t>(first);
  }

 private:
  Place place_;
  Strides strides_;
  std::size_t outer_ = 0;  ///< axes before those that make a run
  Index length_ = 1;
  Index base_ = 0;
};

/// Calls `f(first, offset, count)` for each run: it begins with the element `first` of the whole
/// and `offset` of the chunk.
template <class F>
void for_each_run(const Place& place, F&& f) {
  const Runs runs(place);
  const Index count = volume(place.extents);
  for (Index offset = 0; offset < count; offset += runs.length())
    f(runs[offset], offset, runs.length());
}

}  // namespace muster::engine::random
