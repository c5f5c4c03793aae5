#include "muster/engine/value/scalar.h"

#include "muster/engine/kernels/ufunc.h"

namespace muster::engine {

Scalar Scalar::cast(DType to) const {
  std::array<std::byte, 16> item{};
  const std::byte* const from = bytes_.data();
  cast_loop(dtype_.type, to.type)(&from, item.data(), 1);
  return {to, item.data()};
}

}  // namespace muster::engine
