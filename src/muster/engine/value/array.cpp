#include "muster/engine/value/array.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"

namespace muster::engine {

Array::Array(Memory& memory, DType dtype, Shape shape, Order order)
    : dtype_(dtype), shape_(std::move(shape)), size_(volume(shape_)), ours_(true) {
  MUSTER_ASSERT(size_ >= 0, "memory is only asked for when the size is known");
  if (size_ > std::numeric_limits<Index>::max() / static_cast<Index>(item_size()))
    throw ArrayError(Wrong::memory, fmt::format("no memory for an array of shape {} and dtype {}",
                                                text(shape_), name(dtype_)));
  strides_ =
      order == Order::c ? c_strides(shape_, item_size()) : fortran_strides(shape_, item_size());
  std::shared_ptr<std::byte> block = memory.allocate(nbytes());
  data_ = block.get();
  owner_ = std::move(block);
}

Array Array::share(DType dtype, Shape shape, Strides strides, const std::byte* data,
                   std::shared_ptr<const void> owner) {
  static std::byte nothing;
  Array array;
  array.dtype_ = dtype;
  array.size_ = volume(shape);
  array.shape_ = std::move(shape);
  array.strides_ = std::move(strides);
  array.data_ = data == nullptr ? &nothing : const_cast<std::byte*>(data);
  array.owner_ = std::move(owner);
  return array;
}

Array Array::copy_of(DType dtype, Shape shape, const void* items) {
  const auto bytes = static_cast<std::size_t>(volume(shape)) * engine::item_size(dtype);
  auto owner = std::make_shared<std::vector<std::byte>>(bytes + 1);
  if (bytes > 0) std::memcpy(owner->data(), items, bytes);
  Strides strides = c_strides(shape, engine::item_size(dtype));
  const std::byte* const data = owner->data();
  return share(dtype, std::move(shape), std::move(strides), data, std::move(owner));
}

bool Array::is_c_contiguous() const noexcept {
  if (size_ == 0) return true;
  auto step = static_cast<Index>(item_size());
  for (std::size_t axis = ndim(); axis-- > 0;) {
    if (shape_[axis] != 1 && strides_[axis] != step) return false;
    step *= shape_[axis];
  }
  return true;
}

bool Array::is_f_contiguous() const noexcept {
  if (size_ == 0) return true;
  auto step = static_cast<Index>(item_size());
  for (std::size_t axis = 0; axis < ndim(); ++axis) {
    if (shape_[axis] != 1 && strides_[axis] != step) return false;
    step *= shape_[axis];
  }
  return true;
}

Array Array::view(Shape shape, Strides strides, Index offset) const {
  Array array = *this;
  array.size_ = volume(shape);
  array.shape_ = std::move(shape);
  array.strides_ = std::move(strides);
  array.data_ += offset;
  return array;
}

Array Array::view_as(DType dtype) const {
  MUSTER_ASSERT(engine::item_size(dtype) == item_size(), "a view keeps the size of the items");
  Array array = *this;
  array.dtype_ = dtype;
  return array;
}

Array Array::slice(const Shape& start, const Shape& extents, const Shape& steps) const {
  Strides strides = strides_;
  Index offset = 0;
  for (std::size_t axis = 0; axis < ndim(); ++axis) {
    if (extents[axis] > 0) offset += start[axis] * strides_[axis];
    if (!steps.empty()) strides[axis] *= steps[axis];
  }
  return view(extents, std::move(strides), volume(extents) == 0 ? 0 : offset);
}

Array Array::transposed(const std::vector<int>& axes) const {
  Shape shape;
  Strides strides;
  for (const int axis : axes) {
    shape.push_back(shape_[static_cast<std::size_t>(axis)]);
    strides.push_back(strides_[static_cast<std::size_t>(axis)]);
  }
  return view(std::move(shape), std::move(strides));
}

Array Array::broadcast_to(const Shape& shape) const {
  MUSTER_ASSERT(shape.size() >= ndim(), "broadcasting adds axes, it takes none away");
  Strides strides(shape.size(), 0);
  const std::size_t added = shape.size() - ndim();
  for (std::size_t axis = 0; axis < ndim(); ++axis) {
    MUSTER_ASSERT(shape_[axis] == shape[axis + added] || shape_[axis] == 1,
                  "the shapes were checked before");
    if (shape_[axis] == shape[axis + added]) strides[axis + added] = strides_[axis];
  }
  return view(shape, std::move(strides));
}

Array Array::contiguous(Memory& memory) const {
  // The user's arrays may lie where no item of their type may.
  const std::size_t alignment = std::min<std::size_t>(item_size(), 8);
  const bool aligned = reinterpret_cast<std::uintptr_t>(data_) % alignment == 0;
  if (aligned && is_c_contiguous()) return *this;
  Array copy(memory, dtype_, shape_);
  copy_items(*this, copy);
  return copy;
}

Array Array::reshaped(Memory& memory, Shape shape) const {
  const Array whole = contiguous(memory);
  Strides strides = c_strides(shape, item_size());
  return whole.view(std::move(shape), std::move(strides));
}

Walk::Walk(const Shape& shape, std::vector<Strides> strides) {
  // From the innermost axis outwards: an axis joins the one inside it if every array steps over
  // it as if both were one.
  Shape extents;
  std::vector<Strides> steps(strides.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 0) empty_ = true;
    if (shape[axis] == 1) continue;
    bool joins = !extents.empty();
    for (std::size_t i = 0; joins && i < strides.size(); ++i)
      joins = strides[i][axis] == steps[i].back() * extents.back();
    if (joins) {
      extents.back() *= shape[axis];
      continue;
    }
    extents.push_back(shape[axis]);
    for (std::size_t i = 0; i < strides.size(); ++i) steps[i].push_back(strides[i][axis]);
  }
  if (extents.empty()) {
    inner_steps_.assign(strides.size(), 0);
    return;
  }
  inner_ = extents.front();
  outer_.assign(extents.rbegin(), extents.rend() - 1);
  for (const Strides& each : steps) {
    inner_steps_.push_back(each.front());
    outer_strides_.emplace_back(each.rbegin(), each.rend() - 1);
  }
}

}  // namespace muster::engine
