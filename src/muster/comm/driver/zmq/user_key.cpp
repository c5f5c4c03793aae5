#include "muster/comm/driver/zmq/user_key.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/comm/discovery/file/root.h"
#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

// Names of groups are encoded, and no code has a space: this can be none of theirs.
constexpr const char* kFile = "user key";
constexpr std::size_t kDigits = 64;

Result<std::string> read_key(int root) {
  const FileDescriptor file(::openat(root, kFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return fail(system_error(errno, "open the user's key"));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail(system_error(errno, "look at the user's key"));
  if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    return fail(Errc::refused,
                "the file 'user key' of the discovery folder lets other users in; remove it");
  }
  std::array<char, kDigits> digits{};
  if (::read(file.get(), digits.data(), digits.size()) != static_cast<ssize_t>(digits.size())) {
    return fail(Errc::refused, "the file 'user key' of the discovery folder is damaged; remove it");
  }
  return std::string(digits.data(), digits.size());
}

// Whole or not at all: others may be about to read it, or to make it too.
Result<void> make_key(int root) {
  const std::string key =
      fmt::format("{:016x}{:016x}{:016x}{:016x}", secure_random_u64(), secure_random_u64(),
                  secure_random_u64(), secure_random_u64());
  const std::string draft = fmt::format("{} {:016x}", kFile, secure_random_u64());
  const FileDescriptor file(
      ::openat(root, draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return fail(system_error(errno, "make the user's key"));
  const bool written =
      ::write(file.get(), key.data(), key.size()) == static_cast<ssize_t>(key.size());
  const int linked = written ? ::linkat(root, draft.c_str(), root, kFile, 0) : -1;
  const int error = errno;
  ::unlinkat(root, draft.c_str(), 0);
  if (linked != 0 && error != EEXIST) return fail(system_error(error, "write the user's key"));
  return {};
}

}  // namespace

Result<std::string> user_key() {
  const auto root = file::open_root(file::default_root());
  if (!root) return fail(root.error());
  auto key = read_key(root->get());
  if (key || key.error().is(Errc::refused)) return key;
  if (auto made = make_key(root->get()); !made) return fail(made.error());
  return read_key(root->get());
}

}  // namespace muster::comm
