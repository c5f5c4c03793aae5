#include "muster/cluster/control/ticket.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/cluster/errc.h"

namespace muster::cluster {
namespace {

constexpr std::array<std::pair<Ticket::Kind, std::string_view>, 4> kKinds{{
    {Ticket::Kind::start, "start"},
    {Ticket::Kind::stop, "stop"},
    {Ticket::Kind::remove, "remove"},
    {Ticket::Kind::settings, "settings"},
}};

}  // namespace

Ticket Ticket::make(Kind kind, std::string job) {
  return {.kind = kind, .job = std::move(job), .id = fmt::format("{:016x}", secure_random_u64())};
}

std::string Ticket::text() const {
  return fmt::format("{} {} {}", kKinds.at(static_cast<std::size_t>(kind)).second, job, id);
}

Result<Ticket> Ticket::parse(std::string_view text) {
  const auto first = text.find(' ');
  const auto second = first == std::string_view::npos ? first : text.find(' ', first + 1);
  if (second != std::string_view::npos) {
    for (const auto& [kind, name] : kKinds) {
      if (text.substr(0, first) != name) continue;
      return Ticket{.kind = kind,
                    .job = std::string(text.substr(first + 1, second - first - 1)),
                    .id = std::string(text.substr(second + 1))};
    }
  }
  return fail(Errc::corrupt_state, fmt::format("'{}' is no ticket", text));
}

}  // namespace muster::cluster
