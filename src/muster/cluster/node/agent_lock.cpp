#include "muster/cluster/node/agent_lock.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <unistd.h>

namespace muster::cluster {
namespace {

void write_line(const FileDescriptor& lock, const std::string& line) {
  (void)!::ftruncate(lock.get(), 0);
  (void)!::pwrite(lock.get(), line.data(), line.size(), 0);
}

std::string read_line(const FileDescriptor& lock) {
  std::array<char, 64> text{};
  (void)!::pread(lock.get(), text.data(), text.size() - 1, 0);
  return text.data();
}

}  // namespace

Result<std::optional<FileDescriptor>> take_agent_lock(const ClusterLayout& layout) {
  FileDescriptor lock(::open(layout.agent_lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return fail(system_error(errno, "open '" + layout.agent_lock() + "'"));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return std::optional<FileDescriptor>();
  write_line(lock, std::to_string(::getpid()) + " starts\n");
  return std::optional(std::move(lock));
}

void mark_agent_ready(const FileDescriptor& lock) {
  write_line(lock, std::to_string(::getpid()) + " ready\n");
}

void mark_agent_ended(const FileDescriptor& lock) {
  write_line(lock, std::to_string(::getpid()) + " ended\n");
}

bool agent_ended_on_purpose(const ClusterLayout& layout) {
  const FileDescriptor lock(::open(layout.agent_lock().c_str(), O_RDONLY | O_CLOEXEC));
  return !lock || read_line(lock).ends_with(" ended\n");
}

std::optional<AgentPresence> find_agent(const ClusterLayout& layout) {
  const FileDescriptor lock(::open(layout.agent_lock().c_str(), O_RDONLY | O_CLOEXEC));
  if (!lock || ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return std::nullopt;
  const std::string line = read_line(lock);
  return AgentPresence{.pid = static_cast<pid_t>(std::strtol(line.c_str(), nullptr, 10)),
                       .ready = line.ends_with(" ready\n")};
}

}  // namespace muster::cluster
