#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace muster::service {

/// Calls `work(number, stop)` for each number below `count`, `threads` at a time, and waits for
/// all. When one throws, the others are stopped and it is thrown again. `waiting` is called from
/// this thread now and then meanwhile; what it throws ends the work too.
void in_parallel(std::size_t count, std::size_t threads,
                 const std::function<void(std::size_t number, const std::stop_token& stop)>& work,
                 const std::stop_token& stop, const std::function<void()>& waiting = {});

}  // namespace muster::service
