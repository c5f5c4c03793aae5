#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "muster/base/result.h"

namespace muster::cluster {

/// What the agent is asked to do. Tickets lie in a list until what they led to is stored.
struct Ticket {
  enum class Kind : std::uint8_t {
    start,     ///< a job that was stored with the ticket
    stop,      ///< a job
    remove,    ///< a job: stop and forget
    settings,  ///< read them again
  };

  Kind kind = Kind::start;
  std::string job{};
  std::string id{};  ///< makes it unlike any other

  bool operator==(const Ticket&) const = default;

  [[nodiscard]] static Ticket make(Kind kind, std::string job);
  /// "start job-name id"
  [[nodiscard]] std::string text() const;
  /// `Errc::corrupt_state` for what is no ticket.
  [[nodiscard]] static Result<Ticket> parse(std::string_view text);
};

}  // namespace muster::cluster
