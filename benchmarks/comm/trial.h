#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "partner.h"
#include "wire.h"

namespace muster::bench {

/// Both ends of a wire, ready to be measured: this one, and a partner in another process (or in a
/// thread, for wires within one).
class Trial {
 public:
  /// Measures at least `fewest` messages at a time.
  Trial(WireSpec spec, std::size_t fewest);
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial();

  /// Messages per second, one way: from the first send to the last receive, measured for about
  /// `seconds`.
  [[nodiscard]] double rate(std::size_t size, double seconds);

  struct Latency {
    double p50 = 0;
    double p99 = 0;
  };
  /// Microseconds of a round trip, the same size both ways.
  [[nodiscard]] Latency round_trip(std::size_t size, double seconds);
  /// The same where the message there is lent memory and the answer has 64 bytes.
  [[nodiscard]] Latency hand_over(std::size_t size, double seconds);

 private:
  enum class Way : std::uint8_t { one_way, there_and_back, hand_over };
  // Runs `count` of them and returns how long each took, or all together for `one_way`: seconds.
  std::vector<double> run(Way way, std::size_t size, std::size_t count);
  // How many take about that long. Found by trying once, which is the warm-up too.
  std::size_t count_for(Way way, std::size_t size, double seconds);
  Latency latency(Way way, std::size_t size, double seconds);
  [[nodiscard]] Control& control() { return partner_ ? partner_->control() : *thread_control_; }

  WireSpec spec_;
  std::size_t fewest_;
  std::unique_ptr<Partner> partner_;
  std::unique_ptr<Control> thread_control_;
  std::thread thread_;
  std::unique_ptr<Wire> wire_;
  std::map<std::pair<Way, std::size_t>, double> seconds_each_;
};

/// The partner's side: does what the control says until it ends.
void serve(const WireSpec& spec, Control control);

}  // namespace muster::bench
