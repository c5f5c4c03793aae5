#include "muster/comm/driver/shm/slot_table.h"

#include <numeric>
#include <poll.h>
#include <utility>

namespace muster::comm::shm {
namespace {

// Asking the kernel for every slot would be slow where many are left.
constexpr unsigned kLooksPerQuestion = 64;

}  // namespace

SlotTable::SlotTable(LinkMemory memory) : memory_(std::move(memory)), free_(kSlots) {
  std::iota(free_.rbegin(), free_.rend(), 0u);
}

std::optional<std::uint32_t> SlotTable::take() {
  if (free_.empty()) return std::nullopt;
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  // The frame that names the slot is published after this.
  memory_.slot(slot).store(1, std::memory_order_relaxed);
  return slot;
}

bool SlotTable::released(std::uint32_t slot) {
  if (memory_.slot(slot).load(std::memory_order_seq_cst) == 0 || abandoned_) return true;
  return detached_ && process_died();
}

void SlotTable::detach(std::shared_ptr<const FileDescriptor> process) {
  detached_ = true;
  process_ = std::move(process);
}

bool SlotTable::process_died() {
  if (!process_ || looks_++ % kLooksPerQuestion != 0) return false;
  pollfd question{.fd = process_->get(), .events = POLLIN, .revents = 0};
  abandoned_ = ::poll(&question, 1, 0) == 1;
  return abandoned_;
}

}  // namespace muster::comm::shm
