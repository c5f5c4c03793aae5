#include "muster/cluster/node/ticket_bell.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "muster/base/clock.h"

namespace muster::cluster {
namespace {

constexpr Duration kPatience = std::chrono::seconds(2);

}  // namespace

bool TicketBell::arm(std::chrono::milliseconds longest) {
  if (armed_) return true;
  const TimePoint deadline = SteadyClock().now() + kPatience;
  if (!connection_) {
    auto opened = net::RedisConnection::open(address_, deadline);
    if (!opened) return false;
    connection_.emplace(std::move(*opened));
  }
  const std::string seconds = fmt::format("{:.3f}", static_cast<double>(longest.count()) / 1000);
  const std::array<std::string_view, 6> words{"BLMOVE", tickets_, taken_, "LEFT", "RIGHT", seconds};
  armed_ = connection_->send(words, deadline).has_value();
  if (!armed_) connection_.reset();
  return armed_;
}

bool TicketBell::answer() {
  armed_ = false;
  if (connection_ && connection_->receive(SteadyClock().now() + kPatience)) return true;
  connection_.reset();
  return false;
}

}  // namespace muster::cluster
