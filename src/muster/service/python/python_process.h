#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/runtime/child_process.h"
#include "muster/runtime/fd.h"
#include "muster/service/python/frames.h"
#include "muster/service/python/process_output.h"
#include "muster/service/python/process_spawner.h"

namespace muster::service {

struct PythonProcessOptions {
  std::string interpreter{};                       ///< its path
  Duration start = std::chrono::seconds(60);       ///< from the start to the first word
  Duration goodbye = std::chrono::seconds(2);      ///< for a process that is asked to go
  std::size_t most_calls = 10'000;                 ///< after which it is worn
  std::size_t most_growth = std::size_t{1} << 30;  ///< of its own memory in bytes, likewise
  std::size_t most_memory = 0;                     ///< that a function may take; 0: no limit
};

/// One `python -m muster._runner`, which leads a process group of its own and dies with the
/// process that started it. Not thread-safe but for `kill`.
class PythonProcess {
 public:
  /// `arena`: what it maps to read chunks; -1 for none. Fails with what it wrote to stderr when it
  /// cannot serve.
  [[nodiscard]] static Result<std::unique_ptr<PythonProcess>> start(
      ProcessSpawner& spawner, const PythonProcessOptions& options, int arena);
  /// Kills it, and what it started, if they still run.
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  /// Sends a request and waits for the answer; what functions write meanwhile goes to the log.
  /// `std::errc::timed_out` at the deadline; any failure means that it is of no use any more.
  [[nodiscard]] Result<Frame> exchange(const PackedFrame& request, Deadline deadline);

  /// Whether it has the function; `learn` says that the next request brings it, and returns
  /// whether that request must tell it to forget all others first.
  [[nodiscard]] bool knows(std::uint64_t function) const { return known_.contains(function); }
  [[nodiscard]] bool learn(std::uint64_t function, std::size_t bytes);

  [[nodiscard]] bool has_ended() const;
  /// Bytes that it does not share. Thread-safe, as `kill` is.
  [[nodiscard]] std::size_t own_memory() const;
  /// Its memory grew, or it served, more than it should in one life.
  [[nodiscard]] bool is_worn() const;

  /// Ends it and what it started at once. Thread-safe while neither `end` nor the destructor runs.
  void kill() const;
  /// Lets it leave by itself, for a while, then kills it.
  void leave();
  /// After a failed exchange: waits until it is gone and says how it ended, with its last lines.
  [[nodiscard]] std::string obituary();

 private:
  PythonProcess(const PythonProcessOptions& options, ChildProcess child, FileDescriptor socket,
                ProcessOutput out, ProcessOutput err);
  [[nodiscard]] Result<void> greet(TimePoint deadline);
  [[nodiscard]] Result<void> send(const PackedFrame& request, TimePoint deadline);
  [[nodiscard]] Result<Frame> receive(TimePoint deadline);
  void end();

  const PythonProcessOptions options_;
  ChildProcess child_;
  FileDescriptor socket_;
  ProcessOutput out_;
  ProcessOutput err_;
  bool over_ = false;  ///< killed and waited for
  std::unordered_set<std::uint64_t> known_;
  std::size_t known_bytes_ = 0;
  std::size_t calls_ = 0;
  std::size_t first_memory_ = 0;
};

}  // namespace muster::service
