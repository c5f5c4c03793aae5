#include "muster/runtime/output_queue.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster {
namespace {

bool is_file(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// Nothing where that is not possible: of sockets, and terminals of other users.
FileDescriptor opened_again(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return FileDescriptor(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

// Else to open it once more could give what was not given.
bool is_for_writing(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

}  // namespace

OutputQueue::OutputQueue(int fd) : fd_(fd) {
  if (is_file(fd) || !is_for_writing(fd)) return;
  own_ = opened_again(fd);
  waits_ = !own_;
}

void OutputQueue::add(std::string_view text) {
  if (error_number_ == 0) text_ += text;
}

void OutputQueue::write() {
  while (written_ < text_.size()) {
    const auto count = write_some();
    if (!count) break;
    written_ += *count;
  }
  if (written_ >= text_.size()) {
    text_.clear();
    written_ = 0;
  } else if (written_ >= kFull) {  // not at every call: what is behind moves
    text_.erase(0, written_);
    written_ = 0;
  }
}

std::optional<std::size_t> OutputQueue::write_some() {
  std::size_t count = text_.size() - written_;
  if (waits_) {
    pollfd slot{.fd = fd(), .events = POLLOUT, .revents = 0};
    if (::poll(&slot, 1, 0) <= 0) return std::nullopt;
    count = std::min<std::size_t>(count, PIPE_BUF);  // so much does not wait now
  }
  const ssize_t written = ::write(fd(), text_.data() + written_, count);
  if (written >= 0) return static_cast<std::size_t>(written);
  if (errno == EINTR || errno == EAGAIN) return std::nullopt;
  error_number_ = errno;
  return text_.size() - written_;
}

}  // namespace muster
