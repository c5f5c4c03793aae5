#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/comm/driver/registry.h"

namespace muster::comm {

/// One end of a driver under test: plays the part of a proxy, one step at a time and from one
/// thread.
class Station final : public DriverSink {
 public:
  struct Setup {
    std::string driver;
    DriverOptionTexts options = {};
    std::string secret = {};
    bool insecure = false;
    QueueLimits limits = {};
    std::string group = "conformance";
  };

  Station(std::string name, const Setup& setup);

  /// Lets the driver do whatever it has to do now.
  void step();
  /// Connects to another station; the number is ours for it.
  PeerId connect(const Station& other);
  PeerId connect(const Entry& entry);
  SendStatus send(PeerId peer, Message message);

  /// A message with ids of this station.
  Message message(std::string_view tag, Body body);

  // DriverSink.
  std::optional<PeerId> on_hello(const Entry& peer) override;
  void on_message(PeerId from, Message&& message) override;
  void on_departure(PeerId peer, Departure departure, const std::string& why) override;

  Entry self;
  Driver& driver() { return *driver_; }
  Doorbell& doorbell() { return *doorbell_; }

  Intake intake = Intake::open;
  std::vector<std::pair<PeerId, Message>> received;
  std::vector<Entry> hellos;
  std::map<PeerId, Departure> departures;
  std::optional<PeerId> number_of(const Name& name) const;

 private:
  std::string group_;
  SteadyClock clock_;
  std::unique_ptr<Doorbell> doorbell_;
  std::unique_ptr<Driver> driver_;
  IdSource ids_;
  std::map<InstanceId, PeerId> numbers_;
  std::map<Name, InstanceId> names_;
  std::uint32_t next_number_ = 0;
};

/// Steps all stations until `done`, for at most ten seconds. Returns whether it came to that.
bool step_until(const std::vector<Station*>& stations, const std::function<bool()>& done);

}  // namespace muster::comm
