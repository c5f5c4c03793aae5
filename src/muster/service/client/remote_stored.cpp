#include "muster/service/client/remote_stored.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/engine/errors.h"
#include "muster/engine/value/array.h"

namespace muster::service {

using engine::Array;
using engine::ArrayError;
using engine::Shape;
using engine::Wrong;

Shape position_of(std::size_t number, const Shape& grid) {
  Shape position(grid.size());
  auto rest = static_cast<engine::Index>(number);
  for (std::size_t axis = grid.size(); axis-- > 0;) {
    position[axis] = rest % grid[axis];
    rest /= grid[axis];
  }
  return position;
}

Array RemoteStored::chunk(std::size_t number) const {
  const Shape extents = engine::extents_at(splits_, position_of(number, engine::grid_of(splits_)));
  Array array(connection_->memory(), dtype_, extents);
  download(number, extents, {array.mutable_data(), array.nbytes()}, {});
  return array;
}

void RemoteStored::download(std::size_t number, const Shape& extents, std::span<std::byte> into,
                            const std::stop_token& stop) const {
  connection_->check_open();
  const auto room = [&](const net::HttpHead& head) {
    const std::string* const dtype = head.header("Muster-Dtype");
    const std::string* const shape = head.header("Muster-Shape");
    const std::string wanted = fmt::format("{}", fmt::join(extents, ","));
    if (head.length != into.size() || dtype == nullptr || *dtype != engine::name(dtype_) ||
        shape == nullptr || *shape != wanted)
      throw ArrayError(Wrong::other,
                       fmt::format("chunk {} of '{}' came as {} of shape ({}) instead of {} ({})",
                                   number, key_, dtype == nullptr ? "?" : *dtype,
                                   shape == nullptr ? "?" : *shape, engine::name(dtype_), wanted));
    return into;
  };
  connection_->web().download(connection_->path(fmt::format("/tensors/{}/chunks/{}", key_, number)),
                              into.size(), room, stop);
}

}  // namespace muster::service
