#include "muster/comm/discovery/file/registration.h"

#include <sstream>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/base/clock.h"
#include "muster/comm/errc.h"
#include "muster/runtime/host.h"
#include "muster/runtime/process_life.h"

namespace muster::comm::file {
namespace {

constexpr int kFormat = 1;

}  // namespace

std::string Registration::to_text() const {
  return fmt::format("{} {} {} {} {} {}\n{}", kFormat, since, written, pid, start, pid_namespace,
                     entry.to_json());
}

Result<Registration> Registration::from_text(std::string_view text) {
  const auto line_end = text.find('\n');
  if (line_end == std::string_view::npos)
    return fail(Errc::malformed, "a registration without its second line");
  std::istringstream line{std::string(text.substr(0, line_end))};
  int format = 0;
  Registration registration;
  line >> format >> registration.since >> registration.written >> registration.pid >>
      registration.start >> registration.pid_namespace;
  if (!line || format != kFormat)
    return fail(Errc::malformed, "a registration whose first line cannot be read");
  auto entry = Entry::from_json(text.substr(line_end + 1));
  if (!entry) return fail(entry.error());
  registration.entry = *std::move(entry);
  return registration;
}

bool Registration::newer_than(std::uint64_t other_since, InstanceId other) const {
  return entry.instance != other &&
         std::tuple(since, entry.instance) > std::tuple(other_since, other);
}

Registration own_registration(const Entry& entry, std::uint64_t since) {
  const auto now = static_cast<std::uint64_t>(SteadyClock().now().time_since_epoch().count());
  const pid_t pid = ::getpid();
  return {.since = since == 0 ? now : since,
          .written = now,
          .pid = pid,
          .start = process_start(pid),
          .pid_namespace = pid_namespace(),
          .entry = entry};
}

}  // namespace muster::comm::file
