#include "muster/comm/collective/handle.h"

#include <stdexcept>
#include <utility>

#include "muster/comm/collective/handle_state.h"

namespace muster::comm {
namespace {

void require(const std::shared_ptr<Handle::State>& state) {
  if (!state) throw std::logic_error("[Handle] belongs to no call");
}

}  // namespace

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

Handle::~Handle() { cancel(); }

Result<void> Handle::wait(Timeout timeout) {
  require(state_);
  return state_->wait(timeout);
}

Result<bool> Handle::test() {
  require(state_);
  return state_->test();
}

void Handle::cancel() {
  if (state_) state_->cancel();
}

}  // namespace muster::comm
