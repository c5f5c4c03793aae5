#pragma once

#include <cstdint>
#include <memory>
#include <sched.h>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "muster/runtime/fd.h"

namespace muster::bench {

/// Nanoseconds on the steady clock, which all processes of one host share.
[[nodiscard]] std::int64_t now_ns();

/// Short lines between the two processes of a trial, over a socket apart from the wire.
class Control {
 public:
  explicit Control(FileDescriptor socket) : socket_(std::move(socket)) {}

  void say(const std::string& line);
  /// Empty when the other side is gone. Throws when nothing comes for two minutes.
  [[nodiscard]] std::string hear();

 private:
  FileDescriptor socket_;
};

/// This program once more, in a process of its own, with other arguments. `--control FD` is added;
/// it is killed and reaped with the object, and dies with its parent.
class Partner {
 public:
  explicit Partner(std::vector<std::string> arguments);
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;
  ~Partner();

  [[nodiscard]] Control& control() { return *control_; }

 private:
  pid_t pid_ = -1;
  std::unique_ptr<Control> control_;
};

/// Keeps the calling thread on one core, the `index`-th that it may use, and lets it go again. Two
/// threads that talk belong on two cores; left alone, a busy machine may put them on one. Threads
/// that others made stay where they like.
class Pinned {
 public:
  explicit Pinned(int index);
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned();

 private:
  cpu_set_t before_;
};

/// A pair of connected sockets that are closed on exec.
[[nodiscard]] std::pair<FileDescriptor, FileDescriptor> socket_pair();

}  // namespace muster::bench
