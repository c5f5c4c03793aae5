#include "muster/runtime/poll.h"

#include <ctime>

namespace muster {

bool poll_until(std::span<pollfd> slots, TimePoint deadline) {
  using std::chrono::seconds;
  const TimePoint now = SteadyClock().now();
  const Duration left = deadline > now ? deadline - now : Duration::zero();
  const auto whole = std::chrono::duration_cast<seconds>(left);
  const timespec timeout{static_cast<time_t>(whole.count()),
                         static_cast<long>((left - whole).count())};
  return ::ppoll(slots.data(), slots.size(), &timeout, nullptr) > 0;
}

}  // namespace muster
