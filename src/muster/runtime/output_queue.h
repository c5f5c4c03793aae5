#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "muster/runtime/fd.h"

namespace muster {

/// Text for a descriptor whose reader may be slow, such as a pager, or gone to sleep: whoever
/// writes here does not wait, and keeps what does not go yet. The descriptor stays as it is,
/// because other processes may have it, too: pipes and terminals are opened once more. Not
/// thread-safe.
class OutputQueue {
 public:
  /// Who produces text should wait while so much is there.
  static constexpr std::size_t kFull = std::size_t{256} << 10;

  explicit OutputQueue(int fd);

  /// To be watched for room while this is not empty.
  [[nodiscard]] int fd() const { return own_ ? own_.get() : fd_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] bool full() const { return text_.size() - written_ >= kFull; }
  /// What ended the writing, as errno has it; 0 if nothing did. From then on text is forgotten.
  [[nodiscard]] int error_number() const { return error_number_; }

  /// Takes it whole, however full it is.
  void add(std::string_view text);
  /// Writes what goes without waiting.
  void write();

 private:
  // Nothing when it would have to wait.
  std::optional<std::size_t> write_some();

  int fd_;
  FileDescriptor own_;  // of the same file, that does not wait
  bool waits_;          // what is written there may wait
  std::string text_;
  std::size_t written_ = 0;  // of the text
  int error_number_ = 0;
};

}  // namespace muster
