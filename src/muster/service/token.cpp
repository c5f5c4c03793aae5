#include "muster/service/token.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/base/buffer.h"
#include "muster/base/random.h"
#include "muster/comm/discovery/file/root.h"
#include "muster/net/local_address.h"
#include "muster/runtime/fd.h"
#include "muster/service/errc.h"

namespace muster::service {

namespace {

// Binds the token to its use: another use of the same secret gets another key.
constexpr std::string_view kPurpose = "muster web token, version 1";
constexpr std::size_t kLongestToken = 4096;

const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

tl::unexpected<Error> failed(const std::filesystem::path& path, std::string_view doing) {
  return fail(system_error(errno, fmt::format("{} the token file '{}'", doing, path.string())));
}

Result<std::string> contents(const FileDescriptor& file, const std::filesystem::path& path) {
  std::string text(kLongestToken + 1, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(path, "read");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

Result<void> write_whole(const FileDescriptor& file, const std::filesystem::path& path,
                         std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(path, "write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// A file beside `path` that holds the token and that only this user may read.
Result<std::filesystem::path> write_beside(const std::filesystem::path& path,
                                           std::string_view token) {
  if (path.parent_path() == comm::file::default_root())
    if (auto root = comm::file::open_root(path.parent_path()); !root) return fail(root.error());
  auto temporary = path.parent_path() /
                   fmt::format("{}.{:016x}.tmp", path.filename().string(), secure_random_u64());
  const FileDescriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return failed(path, "make");
  if (auto ok = write_whole(file, path, fmt::format("{}\n", token)); !ok) {
    ::unlink(temporary.c_str());
    return fail(ok.error());
  }
  return temporary;
}

}  // namespace

std::string made_token() {
  return fmt::format("{:016x}{:016x}{:016x}{:016x}", secure_random_u64(), secure_random_u64(),
                     secure_random_u64(), secure_random_u64());
}

std::string token_from_secret(std::string_view secret) {
  const int ready = sodium_init();
  MUSTER_ASSERT(ready >= 0, "libsodium can be used");
  std::array<unsigned char, crypto_generichash_BYTES> hash{};
  crypto_generichash(hash.data(), hash.size(), raw(secret), secret.size(), raw(kPurpose),
                     kPurpose.size());
  std::string text;
  for (const unsigned char each : hash) text += fmt::format("{:02x}", each);
  return text;
}

bool same_token(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::filesystem::path token_path(std::uint16_t port) {
  return comm::file::default_root() / fmt::format("web-{}.token", port);
}

Result<std::string> read_token(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failed(path, "open");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return failed(path, "look at");
  if ((status.st_mode & 077) != 0)
    return fail(Errc::refused,
                fmt::format("other users may read the token file '{}' (mode {:04o}): chmod 600 it",
                            path.string(), status.st_mode & 07777));
  auto text = contents(file, path);
  if (!text) return text;
  std::string token = trimmed(*text);
  if (token.empty() || token.size() > kLongestToken ||
      token.find_first_of(" \t\r\n") != std::string::npos)
    return fail(Errc::refused,
                fmt::format("'{}' holds no token: one word in one line is wanted", path.string()));
  return token;
}

Result<void> write_token(const std::filesystem::path& path, std::string_view token) {
  const auto temporary = write_beside(path, token);
  if (!temporary) return fail(temporary.error());
  if (::rename(temporary->c_str(), path.c_str()) != 0) {
    auto error = failed(path, "rename");
    ::unlink(temporary->c_str());
    return error;
  }
  return {};
}

Result<std::string> kept_token(const std::filesystem::path& path) {
  auto kept = read_token(path);
  if (kept || kept.error().code() != std::errc::no_such_file_or_directory) return kept;
  const auto temporary = write_beside(path, made_token());
  if (!temporary) return fail(temporary.error());
  // Of several who do this at once the first one wins.
  const bool made = ::link(temporary->c_str(), path.c_str()) == 0 || errno == EEXIST;
  auto error = failed(path, "make");
  ::unlink(temporary->c_str());
  if (!made) return error;
  return read_token(path);
}

std::string token_for(std::string_view host, std::uint16_t port) {
  if (std::string token = environment("MUSTER_TOKEN"); !token.empty()) return token;
  if (net::is_loopback(host))
    if (auto token = read_token(token_path(port))) return *std::move(token);
  const std::string secret = environment("MUSTER_SECRET");
  return secret.empty() ? "" : token_from_secret(secret);
}

}  // namespace muster::service
