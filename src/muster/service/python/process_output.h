#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "muster/base/log.h"
#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster::service {

/// What a Python process writes to one of its standard streams: passed on to the log, line by line.
/// Not thread-safe.
class ProcessOutput {
 public:
  [[nodiscard]] static Result<ProcessOutput> make(LogLevel level);

  /// Becomes the child's stream, and is closed here by `started`.
  [[nodiscard]] int child_end() const { return write_.get(); }
  void started(std::string prefix);

  /// Readable when there is something; -1 once the stream is over.
  [[nodiscard]] int fd() const { return read_.get(); }
  /// Reads what is there, without waiting.
  void drain();
  /// A new call: lines are counted from here.
  void begin_call() { lines_ = 0; }
  /// The last lines, for reports; empty if there were none.
  [[nodiscard]] std::string tail() const;

 private:
  ProcessOutput(LogLevel level, FileDescriptor read, FileDescriptor write);
  void take(std::string_view text);
  void end_line();

  LogLevel level_;
  FileDescriptor read_;
  FileDescriptor write_;
  std::string prefix_;
  std::string line_;  ///< what came of it so far
  std::deque<std::string> last_;
  std::size_t lines_ = 0;
};

}  // namespace muster::service
