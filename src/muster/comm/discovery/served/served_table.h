#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/discovery/memory/memory_board.h"
#include "muster/comm/discovery/served/wire.h"

namespace muster::comm::served {

/// A message from or to one connection.
struct Letter {
  std::string peer;  ///< as the ROUTER socket names it
  Parts parts;
};

/// What one server keeps at most, so that nobody fills its memory. Far above what clusters need.
struct TableLimits {
  std::size_t groups = 1'000;
  std::size_t entries = 20'000;         ///< of all groups
  std::size_t entry_bytes = 16u << 10;  ///< a member's has less than one KiB
  std::size_t waits = 20'000;           ///< the next ones are answered at once
};

/// What a `StoreServer` decides: requests in, answers out; no socket, and no time but the clock's.
/// What cannot be read is counted and not answered. Only from one thread.
class ServedTable {
 public:
  /// The clock must outlive the table.
  ServedTable(std::shared_ptr<MemoryBoard> board, const Clock& clock, std::string begun,
              TableLimits limits = {})
      : board_(std::move(board)), clock_(clock), begun_(std::move(begun)), limits_(limits) {}

  [[nodiscard]] std::optional<Letter> take(const Letter& request);
  /// The answers to waits that are over.
  [[nodiscard]] std::vector<Letter> look();
  /// When `look` has something to say even if nothing comes.
  [[nodiscard]] TimePoint next_look();

  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
  /// Entries that were refused because of the limits.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Wait {
    std::string id;
    std::string group;
    std::uint64_t seen = 0;
    TimePoint until;
  };

  [[nodiscard]] std::optional<Parts> answer(const std::string& peer, const Parts& request);
  [[nodiscard]] std::optional<Parts> put(const Parts& request);
  /// Why there is no room for the entry; empty if there is.
  [[nodiscard]] std::string no_room(const std::string& group, const Entry& entry,
                                    std::size_t bytes);
  [[nodiscard]] std::optional<Parts> remove(const Parts& request);
  [[nodiscard]] Parts list(const std::string& group);
  [[nodiscard]] std::optional<Parts> wait(const std::string& peer, const Parts& request);

  std::shared_ptr<MemoryBoard> board_;
  const Clock& clock_;  // outlives this, see the constructor
  std::string begun_;
  const TableLimits limits_;
  std::map<std::string, Wait> waits_;  // by peer: each has one connection for each of its waits
  std::uint64_t malformed_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace muster::comm::served
