#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "muster/comm/discovery/memory/memory_board.h"
#include "muster/comm/discovery/store.h"

namespace muster::comm {

/// A store for the proxies of one process: tests and simulation. Everybody who has the board is
/// found.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::shared_ptr<MemoryBoard> board) : board_(std::move(board)) {}

  [[nodiscard]] std::string description() const override { return "memory"; }
  [[nodiscard]] bool host_only() const override { return true; }
  Result<void> put(const std::string& group, const Entry& entry, Duration lease) override;
  Result<void> remove(const std::string& group, const Name& name, InstanceId instance) override;
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& group) override;
  Result<void> wait_for_change(const std::string& group, TimePoint deadline) override;
  void interrupt() override { board_->interrupt(interrupted_); }

 private:
  using Key = std::tuple<std::string, Name, InstanceId>;

  std::shared_ptr<MemoryBoard> board_;
  std::mutex mutex_;
  std::map<Key, MemoryBoard::Rank> ranks_;
  std::map<std::string, std::uint64_t> seen_;  // version of each group at the last list
  bool interrupted_ = false;                   // guarded by the board
};

}  // namespace muster::comm
