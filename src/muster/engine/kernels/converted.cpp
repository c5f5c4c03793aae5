#include "muster/engine/kernels/converted.h"

#include "muster/engine/kernels/ufunc.h"

namespace muster::engine {

Array converted(const Array& array, DType to, Memory& memory) {
  if (array.dtype().type == to.type) return array;
  const Array items = array.contiguous(memory);
  Array out(memory, to, array.shape());
  const std::byte* const from = items.data();
  cast_loop(array.dtype().type, to.type)(&from, out.mutable_data(),
                                         static_cast<std::size_t>(out.size()));
  return out;
}

Array gapless(const Array& array, DType to, Memory& memory) {
  return converted(array.contiguous(memory), to, memory);
}

}  // namespace muster::engine
