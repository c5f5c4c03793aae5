#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "muster/comm/collective/call.h"

namespace muster::comm::collective {

/// Whose memory a region lies in: the caller's two buffers, or `Schedule::scratch_bytes` that the
/// runner provides.
enum class Space : std::uint8_t { input, output, scratch };

struct Region {
  Space space = Space::scratch;
  std::size_t offset = 0;
  std::size_t bytes = 0;

  /// `length` bytes that begin `from` bytes after the beginning.
  [[nodiscard]] Region part(std::size_t from, std::size_t length) const {
    return {space, offset + from, length};
  }
  [[nodiscard]] std::size_t end() const { return offset + bytes; }
  bool operator==(const Region&) const = default;
};

struct Send {
  int to;
  Region data;
};

struct Receive {
  int from;
  Region into;
};

/// How a copy goes on: so many rows in all, each so many bytes behind the one before.
struct Rows {
  std::size_t count = 1;
  std::size_t into_stride = 0;
  std::size_t left_stride = 0;
};

/// What a rank does with its own memory.
struct Local {
  enum class Kind : std::uint8_t {
    copy,    ///< into = left
    reduce,  ///< into = left ∘ right
    divide   ///< into = into / divisor, item by item
  };
  Kind kind;
  Region into;
  Region left = {};
  Region right = {};
  std::size_t divisor = 1;
  Rows rows = {};  ///< of a copy; `into` and `left` are the first one
};

/// Messages that go together, and work on the rank's own memory. The runner starts all sends and
/// receives, does `meanwhile`, waits for all messages, then does `then`. No region that is received
/// into or written by `meanwhile` overlaps another region of messages or `meanwhile`; no region
/// that is sent is written. Steps within `meanwhile` and `then` go in order.
///
/// Between two ranks, the k-th message that one schedule sends is the k-th that the other receives.
/// Empty regions are neither sent nor received, unless another rank may take them to be larger: in
/// a call without any items, and where not all ranks know the counts. Both sides have them, so that
/// whoever disagrees is found out.
struct Round {
  std::vector<Send> sends = {};
  std::vector<Receive> receives = {};
  std::vector<Local> meanwhile = {};
  std::vector<Local> then = {};
};

/// What one rank does in one collective, as data: made by a pure function, run by `ScheduleRunner`
/// on a `Wire`, or by tests in lock-step in one thread.
struct Schedule {
  std::vector<Round> rounds = {};
  std::size_t scratch_bytes = 0;
};

/// Where a rank stands.
struct Place {
  int rank = 0;
  int size = 1;
  /// The host of each rank, as numbers that are equal for ranks on one host; empty when all are
  /// alone. The caller keeps them alive.
  std::span<const int> hosts = {};
};

/// An algorithm: what the rank at `place` does in `call`. `call` has passed `check`, and the
/// algorithm takes it (see algorithm/registry.h). Reads only shapes, never the buffers.
using Algorithm = Schedule (*)(const Call& call, const Place& place);

/// All messages a schedule sends and receives, one step per line. For tests and for people.
[[nodiscard]] std::string describe(const Schedule& schedule);

}  // namespace muster::comm::collective
