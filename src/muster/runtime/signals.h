#pragma once

#include <optional>
#include <signal.h>
#include <vector>

#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster {

/// Those of the signals that this process does not ignore, as whoever started it may have it do:
/// nohup SIGHUP, a shell without job control what a terminal says to programs in the foreground.
[[nodiscard]] std::vector<int> not_ignored(std::vector<int> numbers);

/// Signals as something to read instead of something that interrupts. While it lives they are
/// blocked in the thread that made it and in those it starts; then the mask is as it was. Threads
/// that were there before (libraries start some) pass on what they get.
class SignalReader {
 public:
  [[nodiscard]] static Result<SignalReader> open(const std::vector<int>& numbers);
  SignalReader(SignalReader&& other) noexcept;
  SignalReader& operator=(SignalReader&&) = delete;
  ~SignalReader();

  /// Readable when one waits.
  [[nodiscard]] int fd() const { return fd_.get(); }
  /// The next signal that waits, if one does.
  [[nodiscard]] std::optional<int> take() const;

 private:
  /// What a signal did before.
  struct Former {
    int number = 0;
    struct sigaction action{};
  };

  SignalReader(FileDescriptor fd, const sigset_t& before) : fd_(std::move(fd)), before_(before) {}

  FileDescriptor fd_;
  sigset_t before_;
  std::vector<Former> formers_;
};

}  // namespace muster
