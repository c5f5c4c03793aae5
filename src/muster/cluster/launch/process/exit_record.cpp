#include "muster/cluster/launch/process/exit_record.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "muster/runtime/fd.h"

namespace muster::cluster {
namespace {

constexpr std::string_view kLast = "end\n";

void line(std::string& text, std::string_view name, std::int64_t value) {
  text.append(name).append(" ").append(std::to_string(value)).append("\n");
}

bool read(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool take(ExitRecord& record, std::string_view name, std::string_view value) {
  if (name == "failure") return record.failure = value, true;
  std::int64_t number = 0;
  if (!read(value, number)) return false;
  if (name == "code") record.status.code = static_cast<int>(number);
  if (name == "signal") record.status.signal = static_cast<int>(number);
  if (name == "out_of_memory") record.out_of_memory = number != 0;
  if (name == "started") record.started_ms = number;
  if (name == "ended") record.ended_ms = number;
  return true;
}

}  // namespace

std::string ExitRecord::description() const {
  if (!failure.empty()) return failure;
  if (out_of_memory) return "out of memory (" + status.description() + ")";
  return status.description();
}

std::string ExitRecord::text() const {
  std::string text;
  line(text, "code", status.code);
  line(text, "signal", status.signal);
  line(text, "out_of_memory", out_of_memory ? 1 : 0);
  line(text, "started", started_ms);
  line(text, "ended", ended_ms);
  if (!failure.empty()) {
    std::string reason = failure;
    std::ranges::replace(reason, '\n', ' ');
    text.append("failure ").append(reason).append("\n");
  }
  return text.append(kLast);
}

std::optional<ExitRecord> ExitRecord::parse(std::string_view text) {
  if (!text.ends_with(kLast)) return std::nullopt;
  text.remove_suffix(kLast.size());
  ExitRecord record;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view row = text.substr(0, end);
    const auto space = row.find(' ');
    if (space == std::string_view::npos ||
        !take(record, row.substr(0, space), row.substr(space + 1)))
      return std::nullopt;
    text.remove_prefix(end + 1);
  }
  return record;
}

std::optional<ExitRecord> read_exit_record(const std::string& folder) {
  const FileDescriptor file(
      ::open((folder + "/" + kExitFile).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return std::nullopt;
  std::string text(8192, '\0');
  const ssize_t count = ::read(file.get(), text.data(), text.size());
  if (count < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(count));
  return ExitRecord::parse(text);
}

Result<void> write_durably(const std::string& folder, const std::string& name,
                           std::string_view text) {
  const std::string path = folder + "/" + name;
  const std::string draft = path + ".draft";
  const FileDescriptor file(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  const bool written =
      file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fdatasync(file.get()) == 0 && ::rename(draft.c_str(), path.c_str()) == 0;
  if (!written) return fail(system_error(errno, "write '" + path + "'"));
  return {};
}

}  // namespace muster::cluster
