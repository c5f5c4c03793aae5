#include "muster/comm/collective/handle.h"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/collective/handle_state.h"
#include "muster/comm/collective/inside.h"
#include "muster/comm/errc.h"

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
  collective::Inside::refuse_in_reduction("Handle.wait", state_->group());
  return state_->wait(timeout);
}

Result<bool> Handle::test() {
  require(state_);
  collective::Inside::refuse_in_reduction("Handle.test", state_->group());
  return state_->test();
}

void Handle::cancel() {
  if (state_) state_->cancel();
}

Error inherited_error(const std::string& group) {
  return {
      make_error_code(Errc::forked),
      fmt::format("group '{}' was inherited through fork; a child process joins by itself", group)};
}

}  // namespace muster::comm
