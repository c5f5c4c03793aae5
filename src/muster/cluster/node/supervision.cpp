#include "muster/cluster/node/supervision.h"

#include <chrono>
#include <filesystem>
#include <poll.h>
#include <utility>

#include "muster/base/log.h"
#include "muster/cluster/node/daemon.h"
#include "muster/runtime/unix_socket.h"

namespace muster::cluster {
namespace {

constexpr Duration kPause = std::chrono::seconds(5);

bool ready(int fd) {
  pollfd slot{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&slot, 1, 0) == 1;
}

}  // namespace

Supervision::Supervision(ClusterLayout layout, pid_t supervisor) : layout_(std::move(layout)) {
  if (supervisor <= 0) return;
  if (auto pidfd = watch_process(supervisor)) first_ = std::move(*pidfd);
}

int Supervision::fd() const {
  if (SteadyClock().now() < not_before_) return -1;
  return later_ ? later_->fd() : first_.get();
}

bool Supervision::lives() {
  if (later_) return !later_->try_wait();
  return !first_ || !ready(first_.get());
}

void Supervision::look() {
  const TimePoint now = SteadyClock().now();
  if (now < not_before_ || lives()) return;
  if (!std::filesystem::exists(layout_.settings())) return;  // process mode is being deleted
  not_before_ = now + kPause;
  auto started = start_supervisor(layout_, Beside::yes);
  if (!started) return log(LogLevel::warning, "agent", "{}", started.error().message());
  log(LogLevel::warning, "agent", "the supervisor is gone and was started again");
  later_.emplace(std::move(*started));
}

}  // namespace muster::cluster
