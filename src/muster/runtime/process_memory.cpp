#include "muster/runtime/process_memory.h"

#include <array>
#include <cerrno>
#include <limits>
#include <sys/uio.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/runtime/host.h"

namespace muster {

MemoryProof::MemoryProof() : proof_(std::make_unique<std::uint64_t>(secure_random_u64())) {}

ProcessMemory MemoryProof::memory() const {
  return {static_cast<std::uint64_t>(::getpid()), *proof_,
          reinterpret_cast<std::uint64_t>(proof_.get())};
}

std::string memory_host() { return host_id() + "/" + pid_namespace(); }

Result<void> read_memory(const ProcessMemory& memory, std::uint64_t address,
                         std::span<std::byte> into) {
  if (memory.pid == 0 || memory.pid > static_cast<std::uint64_t>(std::numeric_limits<pid_t>::max()))
    return fail(system_error(ESRCH, fmt::format("read memory of process {}", memory.pid)));
  while (true) {
    // The proof comes first each time: what is read with it is of the same process.
    std::uint64_t proof = 0;
    const std::array<iovec, 2> local{iovec{&proof, sizeof proof}, iovec{into.data(), into.size()}};
    const std::array<iovec, 2> remote{iovec{reinterpret_cast<void*>(memory.proof_at), sizeof proof},
                                      iovec{reinterpret_cast<void*>(address), into.size()}};
    const ssize_t got = ::process_vm_readv(static_cast<pid_t>(memory.pid), local.data(),
                                           local.size(), remote.data(), remote.size(), 0);
    const auto failed = [&](int code) {
      return fail(system_error(
          code, fmt::format("read {} bytes of memory of process {}", into.size(), memory.pid)));
    };
    // What another process has in its place may not be there at all.
    if (got < 0) return failed(errno == EFAULT ? ESRCH : errno);
    if (got < static_cast<ssize_t>(sizeof proof) || proof != memory.proof) return failed(ESRCH);
    const std::size_t bytes = static_cast<std::size_t>(got) - sizeof proof;
    if (bytes == into.size()) return {};
    if (bytes == 0) return failed(EFAULT);
    // The kernel moves at most 2 GiB at once.
    into = into.subspan(bytes);
    address += bytes;
  }
}

}  // namespace muster
