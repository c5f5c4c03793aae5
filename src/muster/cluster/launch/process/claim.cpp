#include "muster/cluster/launch/process/claim.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

namespace muster::cluster {
namespace {

std::string path_of(const std::string& folder) { return folder + "/claim"; }

pid_t number_after(const std::string& text, const char* word) {
  const auto at = text.find(word);
  if (at == std::string::npos) return 0;
  return static_cast<pid_t>(
      std::strtol(text.c_str() + at + std::string_view(word).size(), nullptr, 10));
}

}  // namespace

Result<std::optional<FileDescriptor>> take_claim(const std::string& folder, std::string_view text) {
  const std::string path = path_of(folder);
  const std::string draft = path + "." + std::to_string(::getpid());
  const auto failed = [&] {
    const Error error = system_error(errno, "claim '" + path + "'");
    ::unlink(draft.c_str());
    return fail(error);
  };
  FileDescriptor file(
      ::open(draft.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 ||
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return failed();
  if (::renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
    return std::optional(std::move(file));
  }
  if (errno != EEXIST) return failed();
  ::unlink(draft.c_str());
  return std::optional<FileDescriptor>();
}

std::optional<Claim> read_claim(const std::string& folder) {
  const FileDescriptor file(::open(path_of(folder).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return std::nullopt;
  const bool held = ::flock(file.get(), LOCK_SH | LOCK_NB) != 0;
  std::string text(256, '\0');
  const ssize_t count = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return Claim{.held = held,
               .shim = number_after(text, "shim "),
               .component = number_after(text, "component ")};
}

std::string shim_claim_text(pid_t shim) { return "shim " + std::to_string(shim) + "\n"; }

void add_component(const FileDescriptor& claim, pid_t component) {
  const std::string text = "component " + std::to_string(component) + "\n";
  // Only for those who look; the lock is what counts.
  (void)!::write(claim.get(), text.data(), text.size());
}

}  // namespace muster::cluster
