#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "muster/engine/value/dtype.h"
#include "muster/engine/value/memory.h"
#include "muster/engine/value/shape.h"

namespace muster::engine {

enum class Order : bool { c, fortran };

/// Items in memory: a dtype, a shape, strides, and a share in the memory behind them. Cheap to
/// copy; copies and views see the same items. Who made the array fills it; afterwards nobody
/// changes the items but whoever holds the only share.
class Array {
 public:
  Array() = default;
  /// Fresh, not zeroed, without gaps.
  Array(Memory& memory, DType dtype, Shape shape, Order order = Order::c);
  /// Refers to items that stay valid and unchanged while `owner` lives.
  [[nodiscard]] static Array share(DType dtype, Shape shape, Strides strides, const std::byte* data,
                                   std::shared_ptr<const void> owner);
  /// A copy on the heap of contiguous items; for constants.
  [[nodiscard]] static Array copy_of(DType dtype, Shape shape, const void* items);

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const Strides& strides() const noexcept { return strides_; }
  [[nodiscard]] std::size_t ndim() const noexcept { return shape_.size(); }
  [[nodiscard]] Index size() const noexcept { return size_; }
  [[nodiscard]] std::size_t item_size() const noexcept { return engine::item_size(dtype_); }
  [[nodiscard]] std::size_t nbytes() const noexcept {
    return static_cast<std::size_t>(size_) * item_size();
  }
  /// False for the empty handle that stands for no array.
  [[nodiscard]] explicit operator bool() const noexcept { return data_ != nullptr; }

  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  /// Only for who made the array, or while `is_sole()`.
  [[nodiscard]] std::byte* mutable_data() noexcept { return data_; }
  template <class T>
  [[nodiscard]] const T* as() const noexcept {
    return reinterpret_cast<const T*>(data_);
  }
  template <class T>
  [[nodiscard]] T* mutable_as() noexcept {
    return reinterpret_cast<T*>(data_);
  }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return owner_; }
  /// Nobody else shares the memory, and it is ours to change.
  [[nodiscard]] bool is_sole() const noexcept { return ours_ && owner_.use_count() == 1; }

  /// Without gaps, the last axis running fastest.
  [[nodiscard]] bool is_c_contiguous() const noexcept;
  [[nodiscard]] bool is_f_contiguous() const noexcept;

  /// The same memory seen differently; `offset` in bytes from the first item.
  [[nodiscard]] Array view(Shape shape, Strides strides, Index offset = 0) const;
  /// The same memory and shape, items read as another type of the same size.
  [[nodiscard]] Array view_as(DType dtype) const;
  /// The items from `start`, `extents` of them along each axis, every `steps`-th (1 if empty; may
  /// be negative).
  [[nodiscard]] Array slice(const Shape& start, const Shape& extents,
                            const Shape& steps = {}) const;
  [[nodiscard]] Array transposed(const std::vector<int>& axes) const;
  /// Strides for `shape`, with zeros where this is repeated; shapes must broadcast.
  [[nodiscard]] Array broadcast_to(const Shape& shape) const;
  /// Without gaps in C order, where items of its type may lie: itself, or a copy.
  [[nodiscard]] Array contiguous(Memory& memory) const;
  /// The items in C order as `shape`, whose volume is the same; copies only if it must.
  [[nodiscard]] Array reshaped(Memory& memory, Shape shape) const;

 private:
  DType dtype_;
  Shape shape_;
  Strides strides_;
  Index size_ = 0;
  std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  bool ours_ = false;  ///< from Memory, so it may be changed by a sole holder
};

/// Copies items of the same dtype and shape, whatever the strides.
void copy_items(const Array& from, Array& to);

/// Walks arrays of one shape together, innermost axis as runs: calls `f(pointers, count)` for each
/// run; along it, array i moves by `steps[i]` bytes. Axes that allow it are joined to longer runs.
class Walk {
 public:
  /// Every array has `shape` (use `broadcast_to` before).
  Walk(const Shape& shape, std::vector<Strides> strides);

  [[nodiscard]] const std::vector<Index>& steps() const { return inner_steps_; }
  [[nodiscard]] Index run_length() const { return inner_; }

  template <class F>
  void operator()(std::vector<std::byte*> pointers, F&& f) const {
    if (empty_) return;
    Shape position(outer_.size(), 0);
    for (;;) {
      f(pointers.data(), inner_);
      std::size_t axis = outer_.size();
      for (;;) {
        if (axis == 0) return;
        --axis;
        for (std::size_t i = 0; i < pointers.size(); ++i) pointers[i] += outer_strides_[i][axis];
        if (++position[axis] < outer_[axis]) break;
        for (std::size_t i = 0; i < pointers.size(); ++i)
          pointers[i] -= outer_strides_[i][axis] * outer_[axis];
        position[axis] = 0;
      }
    }
  }

 private:
  bool empty_ = false;
  Shape outer_;
  std::vector<Strides> outer_strides_;  ///< per array
  Index inner_ = 1;
  std::vector<Index> inner_steps_;  ///< per array
};

}  // namespace muster::engine
