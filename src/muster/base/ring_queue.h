#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace muster {

/// A queue whose places are used again and again: unlike std::deque it allocates only to grow, and
/// when it runs empty it starts over at its first place, which is still in the cache. A place that
/// was popped keeps what its element left behind when it was moved from. Not thread-safe.
template <class T>
class RingQueue {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The `index`-th oldest.
  [[nodiscard]] T& operator[](std::size_t index) { return places_[place(index)]; }
  [[nodiscard]] T& front() { return places_[first_]; }

  void push_back(T&& value) { append() = std::move(value); }
  /// A new last element, to be assigned: it holds what an earlier one left behind.
  [[nodiscard]] T& append() {
    if (size_ == places_.size()) grow();
    return places_[place(size_++)];
  }

  /// The caller has moved the front away.
  void pop_front() {
    first_ = place(1);
    if (--size_ != 0) return;
    first_ = 0;
    if (places_.size() > kKept) places_ = std::vector<T>();
  }

 private:
  static constexpr std::size_t kSmallest = 16;
  // What a burst needed beyond this is given back when it is over.
  static constexpr std::size_t kKept = 4096;

  // There is a power of two of places.
  [[nodiscard]] std::size_t place(std::size_t index) const {
    return (first_ + index) & (places_.size() - 1);
  }

  void grow() {
    std::vector<T> larger(places_.empty() ? kSmallest : 2 * places_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    places_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> places_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace muster
