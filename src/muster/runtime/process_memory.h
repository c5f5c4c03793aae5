#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "muster/base/result.h"

namespace muster {

/// How another process of this host and user finds the memory of a process: its number, and a proof
/// that it is still the one that was meant, because numbers are used again and mean other processes
/// in other namespaces.
struct ProcessMemory {
  std::uint64_t pid = 0;
  std::uint64_t proof = 0;
  std::uint64_t proof_at = 0;  ///< where the process has the proof
};

/// What this process shows to others that may read its memory, as long as it lives.
class MemoryProof {
 public:
  MemoryProof();
  [[nodiscard]] ProcessMemory memory() const;

 private:
  std::unique_ptr<const std::uint64_t> proof_;  ///< stays where it is
};

/// Equal in two processes that may read each other's memory, if the kernel lets them.
[[nodiscard]] std::string memory_host();

/// Copies what `memory` has at `address`. Fails where the process is gone or another one (ESRCH),
/// has nothing there, or nothing that others can read (EFAULT), or may not be read at all (EPERM):
/// the kernel decides as it does for debuggers (ptrace(2)).
[[nodiscard]] Result<void> read_memory(const ProcessMemory& memory, std::uint64_t address,
                                       std::span<std::byte> into);

}  // namespace muster
