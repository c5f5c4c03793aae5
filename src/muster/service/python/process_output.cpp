#include "muster/service/python/process_output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/ranges.h>

namespace muster::service {

namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kMostLast = 20;
/// Of one call, in the log: a function that prints in a loop must not fill the disk.
constexpr std::size_t kMostLines = 1000;

}  // namespace

Result<ProcessOutput> ProcessOutput::make(LogLevel level) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(system_error(errno, "make a pipe"));
  FileDescriptor read(ends[0]);
  FileDescriptor write(ends[1]);
  if (::fcntl(read.get(), F_SETFL, O_NONBLOCK) != 0)
    return fail(system_error(errno, "make a pipe non-blocking"));
  return ProcessOutput(level, std::move(read), std::move(write));
}

ProcessOutput::ProcessOutput(LogLevel level, FileDescriptor read, FileDescriptor write)
    : level_(level), read_(std::move(read)), write_(std::move(write)) {}

void ProcessOutput::started(std::string prefix) {
  prefix_ = std::move(prefix);
  write_.reset();
}

void ProcessOutput::drain() {
  // At most this often: what runs on in the background may write faster than we read.
  constexpr int kMostReads = 64;
  std::array<char, 8192> piece;
  for (int i = 0; i < kMostReads && read_; ++i) {
    const ssize_t count = ::read(read_.get(), piece.data(), piece.size());
    if (count > 0) {
      take({piece.data(), static_cast<std::size_t>(count)});
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else {
      if (count == 0 || errno != EAGAIN) read_.reset();
      return;
    }
  }
}

void ProcessOutput::take(std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      end_line();
    } else if (line_.size() < kLongestLine) {
      line_.push_back(c);
    }
  }
}

void ProcessOutput::end_line() {
  if (lines_ < kMostLines) log_line(level_, "python", prefix_ + line_);
  if (lines_ == kMostLines) log_line(level_, "python", prefix_ + "(more lines are left out)");
  ++lines_;
  last_.push_back(std::exchange(line_, {}));
  if (last_.size() > kMostLast) last_.pop_front();
}

std::string ProcessOutput::tail() const {
  std::string text = fmt::format("{}", fmt::join(last_, "\n"));
  if (!line_.empty()) text += (text.empty() ? "" : "\n") + line_;
  return text;
}

}  // namespace muster::service
