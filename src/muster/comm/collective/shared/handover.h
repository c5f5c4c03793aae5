#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster::comm::collective::shared {

/// Where a rank gets the segment: a socket in the abstract namespace, which is gone with its
/// process, and a secret that only members were told.
struct Counter {
  std::string socket;
  std::uint64_t token[2] = {};
};

/// Hands a segment's descriptor to the ranks that ask for it and know the secret.
class Handover {
 public:
  [[nodiscard]] static Result<Handover> open(FileDescriptor segment, int ranks);

  [[nodiscard]] const Counter& counter() const { return counter_; }
  /// Serves those who come within a moment; true when all other ranks have theirs.
  [[nodiscard]] bool serve(Duration moment);
  /// The ranks that do not have theirs.
  [[nodiscard]] std::vector<int> waiting_for() const;
  [[nodiscard]] FileDescriptor take_segment() { return std::move(segment_); }

 private:
  Handover(FileDescriptor segment, FileDescriptor listener, Counter counter, int ranks);

  FileDescriptor segment_;
  FileDescriptor listener_;
  Counter counter_;
  std::vector<FileDescriptor> callers_;
  std::vector<bool> served_;  // by rank; 0 hands over
};

/// Asks at the counter. Where nobody serves at the moment, tries again as long as `go_on`, which
/// pauses for so long, says nothing against it.
[[nodiscard]] Result<FileDescriptor> fetch_segment(
    const Counter& counter, int rank, const std::function<Result<void>(Duration)>& go_on);

}  // namespace muster::comm::collective::shared
