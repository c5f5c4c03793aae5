#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/engine/schedule/journal.h"
#include "muster/engine/value/dtype.h"
#include "muster/engine/value/shape.h"

namespace muster::service {

/// A life of the scheduler begins. Also what a rewritten journal begins with.
struct LifeBegan {
  std::uint64_t epoch = 0;
  std::uint64_t first_epoch = 0;  ///< of the first life whose numbers are still valid
  engine::SessionId next_session;
  engine::WorkerId next_worker;
};

/// A worker was given its number.
struct WorkerNamed {
  engine::WorkerId worker;
  std::string name;
  std::string host;
  std::string metrics;
  std::uint32_t pid = 0;
};

struct SessionOpened {
  engine::SessionId session;
  std::string name;
  double timeout = 0;
  bool trusted = false;
};

struct SessionEnded {
  engine::SessionId session;
};

/// What a client asked for, to be done again if it was not tiled to the end.
struct ExecutionSubmitted {
  engine::SessionId session;
  std::string execution;
  std::vector<std::string> keys;
  std::string options;  ///< JSON
  Buffer graph;
};

/// What the tasks do that the next GraphSubmitted adds. Tasks often share a body.
struct StageSubmitted {
  engine::SessionId session;
  engine::GraphId graph;
  std::string execution;
  std::vector<Buffer> bodies;
  std::vector<std::uint32_t> body_of;       ///< per task
  std::vector<std::uint32_t> first_output;  ///< per task
  std::vector<std::uint32_t> step;  ///< per task: of the plan; the highest bit: sizes are unknown
};

/// Sizes that became known when a task ran.
struct ShapesLearned {
  engine::TaskId task;
  std::vector<engine::Shape> shapes;
};

struct TensorPlace {
  std::string key;
  engine::GraphId graph;
  engine::DType dtype;
  engine::Splits splits;
  std::vector<std::uint32_t> chunks;
};

/// Everything of an execution was submitted; these become its results.
struct LastSubmitted {
  engine::SessionId session;
  std::string execution;
  std::vector<TensorPlace> results;
};

struct ExecutionEnded {
  engine::SessionId session;
  std::string execution;
  std::uint8_t state = 0;
  std::string kind;
  std::string error;
};

struct TensorKept {
  engine::SessionId session;
  TensorPlace tensor;
};

struct TensorReleased {
  engine::SessionId session;
  std::string key;
};

// What a journal that was rewritten begins with, beside some of the above.

struct SchedulerSaved {
  engine::Instant now = 0;
  Buffer snapshot;  ///< Scheduler::snapshot
};

struct TasksSaved {
  engine::SessionId session;
  std::vector<Buffer> bodies;
  std::vector<std::uint32_t> body_of;  ///< per task; kForgotten for those that need none
  std::vector<std::uint32_t> first_output;
  std::vector<std::uint32_t> step;  ///< as in StageSubmitted
  static constexpr std::uint32_t kForgotten = 0xFFFFFFFFu;
};

/// An execution that was begun.
struct ExecutionSaved {
  engine::SessionId session;
  std::string execution;
  engine::GraphId graph;
  std::vector<std::uint32_t> ranges;  ///< of its tasks: first and last in turn
};

using ServiceRecord =
    std::variant<LifeBegan, WorkerNamed, SessionOpened, SessionEnded, ExecutionSubmitted,
                 StageSubmitted, ShapesLearned, LastSubmitted, ExecutionEnded, TensorKept,
                 TensorReleased, SchedulerSaved, TasksSaved, ExecutionSaved>;

/// What a journal is made of: events of the engine's scheduler, and what the service adds.
using JournalEntry = std::variant<engine::JournalRecord, ServiceRecord>;

/// The same for programs that read each other's entries, as far as a program can know.
[[nodiscard]] std::uint64_t entry_layout();

/// Each begins with its kind; then length, checksum, fields.
[[nodiscard]] std::vector<std::byte> encode_entry(const engine::JournalRecord& record);
[[nodiscard]] std::vector<std::byte> encode_entry(const ServiceRecord& record);

/// Reads entries one after another. One that is torn or damaged ends the journal there. Throws
/// ArrayError where one is whole, but not ours.
class EntryReader {
 public:
  explicit EntryReader(ByteSpan bytes) : bytes_(bytes) {}

  /// Nothing at the end.
  [[nodiscard]] std::optional<JournalEntry> next();
  /// Bytes of the entries read so far.
  [[nodiscard]] std::size_t good() const { return at_; }

 private:
  ByteSpan bytes_;
  std::size_t at_ = 0;
};

}  // namespace muster::service
