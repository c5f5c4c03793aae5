#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/engine/schedule/event.h"

namespace muster::engine {

struct JournalRecord {
  Instant now = 0;
  ScheduleEvent event;
};

/// One event as bytes: length and checksum of the rest, the instant, the kind (its place in
/// ScheduleEvent), its fields in order. Feeding a journal's records to a new Scheduler with the
/// same options gives the state at its end.
[[nodiscard]] std::vector<std::byte> encode(const JournalRecord& record);

/// Reads records one after another. A record that was torn by a crash, or damaged, ends the journal
/// there. Throws ArrayError where a record is whole, but not one of ours.
class JournalReader {
 public:
  explicit JournalReader(ByteSpan bytes) : bytes_(bytes) {}

  /// Nothing at the end.
  [[nodiscard]] std::optional<JournalRecord> next();
  /// Bytes of the records read so far: where to go on writing.
  [[nodiscard]] std::size_t good() const { return at_; }

 private:
  ByteSpan bytes_;
  std::size_t at_ = 0;
};

}  // namespace muster::engine
