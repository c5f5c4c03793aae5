#pragma once

#include <memory>

#include "muster/base/result.h"
#include "muster/comm/proxy/options.h"

namespace muster::comm {

/// A collective, or a send or receive, that was started. Its buffers must stay until it is over.
///
/// It goes on while anybody waits for something of the same group, and in the background. The
/// destructor cancels a call that is not over; not in a child process, where `wait` and `test` fail
/// with `Errc::forked`. Movable; `cancel` may be called from any thread, the
/// rest from one at a time.
class Handle {
 public:
  class State;

  Handle() = default;
  explicit Handle(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Handle(Handle&&) noexcept = default;
  Handle& operator=(Handle&& other) noexcept;
  ~Handle();

  /// Returns when the call is over, with its result, every time. `Errc::timeout`: it is not over
  /// yet and goes on; or it is, after the timeout with which it was started: then `test` says so.
  Result<void> wait(Timeout timeout = {});
  /// Whether the call is over; its error, if it failed.
  [[nodiscard]] Result<bool> test();
  /// Gives up a call that is not over: its memory is not touched after this returns. The other
  /// ranks may have done their part, so the group is of no use any more: all its calls fail, on all
  /// ranks, until `shrink`. A receive that has no message yet is given up without harm. A reduction
  /// function may cancel, too: a call that reduces at that moment, in this thread or in one that
  /// waits for this one, goes on until it would wait.
  void cancel();

 private:
  std::shared_ptr<State> state_;
};

}  // namespace muster::comm
