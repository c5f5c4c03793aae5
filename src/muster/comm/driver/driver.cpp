#include "muster/comm/driver/driver.h"

#include <vector>

namespace muster::comm {

Result<WritableBuffer> Driver::allocate(std::size_t bytes) {
  auto owner = std::make_shared<std::vector<std::byte>>(bytes);
  const std::span<std::byte> view(*owner);
  return WritableBuffer{view, std::move(owner)};
}

}  // namespace muster::comm
