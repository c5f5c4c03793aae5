#pragma once

#include "muster/engine/kernels/kernel.h"

namespace muster::engine {

/// The items of an input to be changed: itself if nobody else reads it and it has no gaps, else a
/// copy. The kernel's own handle is moved out.
[[nodiscard]] inline Array writable_input(KernelContext& context, std::size_t number) {
  Array array = context.take_input(number);
  if (array.is_sole() && array.is_c_contiguous()) return array;
  Array copy = context.make(array.dtype(), array.shape());
  copy_items(array, copy);
  return copy;
}

}  // namespace muster::engine
