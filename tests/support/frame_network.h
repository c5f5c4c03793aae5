#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/random.h"
#include "muster/comm/errc.h"
#include "muster/comm/link/frame_transport.h"

namespace muster::testing {

/// A clock that moves only when told to.
class VirtualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void advance(Duration duration) { now_ += duration; }
  void advance_to(TimePoint time) { now_ = std::max(now_, time); }

 private:
  TimePoint now_ = TimePoint{} + std::chrono::seconds(1000);
};

/// Carries frames between transports in one thread and virtual time, losing, repeating, delaying
/// and reordering them as it is told. Everything follows from the seed. Outlives its transports.
class FrameNetwork {
 public:
  struct Weather {
    double loss = 0;
    double repeat = 0;
    Duration quickest{0};
    Duration slowest{0};
    /// Of the line from one address to another, on which frames follow each other; 0: no limit.
    std::uint64_t bytes_per_second = 0;
  };

  explicit FrameNetwork(const Clock& clock, std::uint64_t seed = 0)
      : clock_(clock), random_(seed) {}

  Weather weather;

  /// Frames between the two addresses are lost from now on, silently.
  void cut(const std::string& a, const std::string& b) { cuts_.insert(ordered(a, b)); }
  void heal(const std::string& a, const std::string& b) { cuts_.erase(ordered(a, b)); }

  /// Puts a frame, or garbage, at an address as if a stranger had sent it.
  void inject(const std::string& to, comm::Frame frame) {
    arrived_[to].push_back({clock_.now(), "stranger", std::move(frame), clock_.now()});
  }

  [[nodiscard]] std::unique_ptr<comm::FrameTransport> transport(std::string address) {
    arrived_[address];
    return std::make_unique<Transport>(*this, std::move(address));
  }

  /// When the next frame arrives somewhere; those that wait to be received do not count.
  [[nodiscard]] Deadline next_arrival() const {
    Deadline next;
    for (const auto& [address, frames] : arrived_) {
      for (const Flying& frame : frames) {
        if (frame.at > clock_.now()) next = earlier(next, frame.at);
      }
    }
    return next;
  }

 private:
  struct Flying {
    TimePoint at;
    std::string from;
    comm::Frame frame;
    TimePoint begins;  // when its first bytes arrive
  };

  class Transport final : public comm::FrameTransport {
   public:
    Transport(FrameNetwork& network, std::string address)
        : network_(network), address_(std::move(address)) {}
    ~Transport() override { close(); }

    [[nodiscard]] std::string_view name() const override { return "memory"; }
    [[nodiscard]] std::string address() const override { return address_; }

    Result<void> connect(comm::PeerId peer, const comm::Entry& entry) override {
      const auto found = entry.addresses.find("memory");
      if (found == entry.addresses.end()) return fail(comm::Errc::socket_type, "no address");
      peers_[peer] = found->second;
      return {};
    }
    void disconnect(comm::PeerId peer) override { peers_.erase(peer); }
    bool send(comm::PeerId peer, const comm::Frame& frame) override {
      const auto found = peers_.find(peer);
      if (found == peers_.end()) return false;
      network_.send(address_, found->second, frame);
      return true;
    }
    [[nodiscard]] std::optional<comm::Frame> receive() override {
      auto flying = network_.take(address_);
      if (!flying) return std::nullopt;
      last_sender_ = std::move(flying->from);
      return std::move(flying->frame);
    }
    [[nodiscard]] std::string last_sender() const override { return last_sender_; }
    [[nodiscard]] std::optional<comm::TransportEvent> next_event() override { return std::nullopt; }
    [[nodiscard]] std::optional<TimePoint> heard(comm::PeerId peer) const override {
      const auto found = peers_.find(peer);
      return found == peers_.end() ? std::nullopt : network_.heard(address_, found->second);
    }
    [[nodiscard]] bool ready() const override { return network_.has(address_); }
    void close() override {
      network_.arrived_.erase(address_);
      peers_.clear();
    }

   private:
    FrameNetwork& network_;
    std::string address_;
    std::map<comm::PeerId, std::string> peers_;
    std::string last_sender_;
  };

  static std::pair<std::string, std::string> ordered(const std::string& a, const std::string& b) {
    return std::minmax(a, b);
  }

  void send(const std::string& from, const std::string& to, const comm::Frame& frame) {
    const auto queue = arrived_.find(to);
    if (queue == arrived_.end() || cuts_.contains(ordered(from, to)) ||
        random_.chance(weather.loss))
      return;
    const int copies = random_.chance(weather.repeat) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const auto spread = static_cast<std::uint64_t>((weather.slowest - weather.quickest).count());
      const Duration delay =
          weather.quickest + Duration(static_cast<Duration::rep>(random_.below(spread + 1)));
      const TimePoint begins = std::max(clock_.now() + delay, free_at_[{from, to}]);
      const TimePoint at = begins + time_of(frame);
      if (at != begins) free_at_[{from, to}] = at;
      queue->second.push_back({at, from, frame, begins});
    }
  }

  [[nodiscard]] Duration time_of(const comm::Frame& frame) const {
    if (weather.bytes_per_second == 0) return {};
    return std::chrono::nanoseconds(std::chrono::seconds(1)) * frame.bytes() /
           weather.bytes_per_second;
  }

  /// Now, while a frame from there is arriving.
  [[nodiscard]] std::optional<TimePoint> heard(const std::string& at,
                                               const std::string& from) const {
    const TimePoint now = clock_.now();
    const auto queue = arrived_.find(at);
    if (queue == arrived_.end()) return std::nullopt;
    const bool arriving =
        std::any_of(queue->second.begin(), queue->second.end(), [&](const Flying& flying) {
          return flying.from == from && flying.begins <= now && now < flying.at;
        });
    return arriving ? std::optional(now) : std::nullopt;
  }

  [[nodiscard]] bool has(const std::string& address) const {
    const auto queue = arrived_.find(address);
    return queue != arrived_.end() &&
           std::any_of(queue->second.begin(), queue->second.end(),
                       [&](const Flying& flying) { return flying.at <= clock_.now(); });
  }

  std::optional<Flying> take(const std::string& address) {
    const auto found = arrived_.find(address);
    if (found == arrived_.end()) return std::nullopt;
    auto& queue = found->second;
    // The earliest that is due; among equals the first sent.
    const auto first = std::min_element(
        queue.begin(), queue.end(), [](const Flying& a, const Flying& b) { return a.at < b.at; });
    if (first == queue.end() || first->at > clock_.now()) return std::nullopt;
    Flying flying = std::move(*first);
    queue.erase(first);
    return flying;
  }

  const Clock& clock_;
  Random random_;
  std::map<std::string, std::deque<Flying>> arrived_;  // by receiver; absent when closed
  std::map<std::pair<std::string, std::string>, TimePoint> free_at_;  // by line
  std::set<std::pair<std::string, std::string>> cuts_;
};

}  // namespace muster::testing
