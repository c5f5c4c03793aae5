#pragma once

#include <functional>

#include "muster/engine/value/array.h"
#include "muster/service/client/remote_stored.h"

namespace muster::service {

/// The items of a tensor on a cluster from `start` on, `extents` of them along each axis, which
/// must be there. Downloads only the chunks that they are in, `connections` at a time, straight to
/// their place where they are whole and lie there without gaps. `waiting` as in in_parallel.
[[nodiscard]] engine::Array download_part(const RemoteStored& stored, const engine::Shape& start,
                                          const engine::Shape& extents, std::size_t connections,
                                          const std::function<void()>& waiting = {});
[[nodiscard]] engine::Array download_all(const RemoteStored& stored, std::size_t connections,
                                         const std::function<void()>& waiting = {});

}  // namespace muster::service
