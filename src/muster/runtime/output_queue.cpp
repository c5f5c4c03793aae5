#include "muster/runtime/output_queue.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster {
namespace {

mode_t kind_of(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

// To open another file once more, or this one for writing, could give what was not given.
bool may_be_opened_again(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return false;
  int number = 0;
  const bool is_master = ::ioctl(fd, TIOCGPTN, &number) == 0;  // that would be another terminal
  return kind_of(fd) == S_IFIFO || (::isatty(fd) == 1 && !is_master);
}

// Nothing where that is not possible, as with terminals of other users.
FileDescriptor opened_again(int fd) {
  if (!may_be_opened_again(fd)) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return FileDescriptor(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

}  // namespace

OutputQueue::OutputQueue(int fd)
    : fd_(fd), own_(opened_again(fd)), waits_(!own_ && kind_of(fd) != S_IFREG) {}

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
