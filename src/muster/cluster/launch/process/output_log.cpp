#include "muster/cluster/launch/process/output_log.h"

#include <cerrno>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::cluster {

OutputLog::OutputLog(std::string folder, std::uint64_t max_bytes, unsigned keep)
    : folder_(std::move(folder)), max_bytes_(max_bytes), keep_(keep) {
  open();
}

std::string OutputLog::name(unsigned age) const {
  return folder_ + "/" + kName + (age == 0 ? "" : "." + std::to_string(age));
}

void OutputLog::open() {
  file_ = FileDescriptor(
      ::open(name(0).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat status{};
  size_ =
      file_ && ::fstat(file_.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

void OutputLog::rotate() {
  file_.reset();
  if (keep_ == 0) ::unlink(name(0).c_str());
  for (unsigned age = keep_; age > 0; --age) ::rename(name(age - 1).c_str(), name(age).c_str());
  open();
}

void OutputLog::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::uint64_t room = max_bytes_ > size_ ? max_bytes_ - size_ : 0;
    if (bytes.size() <= room) return append(bytes);
    // A file ends with a whole line, unless one line alone fills it.
    const auto newline = bytes.substr(0, room).rfind('\n');
    const bool whole_line = newline != std::string_view::npos;
    const std::size_t piece = whole_line ? newline + 1 : size_ == 0 ? room : 0;
    append(bytes.substr(0, piece));
    bytes.remove_prefix(piece);
    rotate();
  }
}

void OutputLog::append(std::string_view bytes) {
  if (lost_ > 0) {
    const std::string note =
        "[muster: " + std::to_string(lost_) + " bytes of output could not be written]\n";
    if (file_ && ::write(file_.get(), note.data(), note.size()) > 0) lost_ = 0;
  }
  while (!bytes.empty()) {
    const ssize_t count = file_ ? ::write(file_.get(), bytes.data(), bytes.size()) : -1;
    if (count < 0 && file_ && errno == EINTR) continue;
    if (count <= 0) {
      lost_ += bytes.size();
      if (!file_) open();
      return;
    }
    size_ += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace muster::cluster
