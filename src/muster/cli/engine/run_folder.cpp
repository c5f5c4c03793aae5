#include "muster/cli/engine/run_folder.h"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/runtime/process_life.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "muster-local-";  // then pid, start of the process, random

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data() + text.size() || *end != '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return value;
}

bool is_left_behind(const fs::path& folder) {
  const std::string name = folder.filename().string();
  std::string_view rest = name;
  if (!rest.starts_with(kPrefix)) return false;
  rest.remove_prefix(kPrefix.size());
  const auto pid = take_number(rest);
  const auto start = pid ? take_number(rest) : std::nullopt;
  struct stat status{};
  return start && ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && !process_runs(static_cast<std::int64_t>(*pid), *start);
}

void sweep(const fs::path& parent) {
  std::error_code ignored;
  for (fs::directory_iterator place(parent, ignored), end; !ignored && place != end;
       place.increment(ignored)) {
    std::error_code also_ignored;
    if (is_left_behind(place->path())) fs::remove_all(place->path(), also_ignored);
  }
}

}  // namespace

Result<RunFolder> RunFolder::make(const fs::path& parent) {
  sweep(parent);
  const fs::path path = parent / fmt::format("{}{}-{}-{:016x}", kPrefix, ::getpid(),
                                             process_start(::getpid()), secure_random_u64());
  if (::mkdir(path.c_str(), 0700) != 0)
    return fail(system_error(errno, fmt::format("make the folder '{}'", path.string())));
  return RunFolder(path);
}

RunFolder::RunFolder(RunFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace muster::cli
