#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "muster/engine/schedule/ids.h"

namespace muster::service {

/// Makes the ids by which clients name their sessions: the number of the session and a seal that
/// nobody can guess. Whoever has the same key (a web role that was started again) reads them, so
/// nothing needs to be remembered. Thread-safe.
class SessionTickets {
 public:
  explicit SessionTickets(std::string_view key);

  [[nodiscard]] std::string make(engine::SessionId session) const;
  /// Nothing for what is no ticket of ours.
  [[nodiscard]] std::optional<engine::SessionId> read(std::string_view ticket) const;

 private:
  std::array<unsigned char, 32> key_{};
};

/// A text from which `text` cannot be found.
[[nodiscard]] std::string fingerprint(std::string_view text);

}  // namespace muster::service
