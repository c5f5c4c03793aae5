#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "muster/comm/driver/shm/link_memory.h"
#include "muster/runtime/fd.h"

namespace muster::comm::shm {

/// The slots of one link, as its sender sees them: which blocks of the arena the receiver may still
/// read. Lives on after the link as long as blocks are out, because a receiver may close its driver
/// and keep the buffers. Only with the proxy's lock held.
class SlotTable {
 public:
  explicit SlotTable(LinkMemory memory);

  [[nodiscard]] LinkMemory& memory() { return memory_; }

  /// A slot that is now marked as used, or nothing when the receiver holds too much.
  [[nodiscard]] std::optional<std::uint32_t> take();
  [[nodiscard]] std::size_t available() const { return free_.size(); }
  /// True when the receiver will not read the block any more: it let go, or its process is dead.
  [[nodiscard]] bool released(std::uint32_t slot);
  /// After `released`.
  void give_back(std::uint32_t slot) { free_.push_back(slot); }

  /// The link is gone. From now on the death of the process, where it can be watched, releases all.
  void detach(std::shared_ptr<const FileDescriptor> process);
  /// Nobody reads any more.
  void abandon() { abandoned_ = true; }

 private:
  [[nodiscard]] bool process_died();

  LinkMemory memory_;
  std::vector<std::uint32_t> free_;
  std::shared_ptr<const FileDescriptor> process_;
  bool detached_ = false;
  bool abandoned_ = false;
  unsigned looks_ = 0;
};

}  // namespace muster::comm::shm
