#include "tests/support/station.h"

#include <functional>
#include <thread>

#include <gtest/gtest.h>

namespace muster::comm {

Station::Station(std::string name, const Setup& setup)
    : self(local_entry(name, "station")), group_(setup.group), ids_(self.instance) {
  doorbell_ = *Doorbell::create();
  const DriverContext context{self,
                              group_,
                              *doorbell_,
                              clock_,
                              Security{setup.secret, setup.insecure},
                              setup.limits,
                              std::chrono::seconds(3)};
  auto drivers = make_drivers(setup.driver, false, context, setup.options);
  if (!drivers) throw std::runtime_error(drivers.error().message());
  driver_ = std::move(drivers->front());
  self.addresses.emplace(driver_->name(), driver_->address());
}

void Station::step() {
  driver_->on_control(*this);
  driver_->flush();
  driver_->poll(*this, intake);
}

PeerId Station::connect(const Station& other) { return connect(other.self); }

PeerId Station::connect(const Entry& entry) {
  const auto known = numbers_.find(entry.instance);
  if (known != numbers_.end()) return known->second;
  const PeerId number(next_number_++);
  numbers_.emplace(entry.instance, number);
  names_[entry.name] = entry.instance;
  const auto connected = driver_->connect(number, entry);
  EXPECT_TRUE(connected.has_value()) << connected.error().message();
  return number;
}

SendStatus Station::send(PeerId peer, Message message) { return driver_->send(peer, message); }

Message Station::message(std::string_view tag, Body body) {
  Message message;
  message.tag = tag;
  message.body = std::move(body);
  message.session_id = ids_.next_session();
  message.message_id = ids_.next_message();
  return message;
}

std::optional<PeerId> Station::on_hello(const Entry& peer) {
  hellos.push_back(peer);
  return connect(peer);
}

void Station::on_message(PeerId from, Message&& message) {
  received.emplace_back(from, std::move(message));
}

void Station::on_departure(PeerId peer, Departure departure, const std::string& /*why*/) {
  departures[peer] = departure;
  if (departure != Departure::silent) driver_->disconnect(peer);
}

std::optional<PeerId> Station::number_of(const Name& name) const {
  const auto it = names_.find(name);
  if (it == names_.end()) return std::nullopt;
  return numbers_.at(it->second);
}

bool step_until(const std::vector<Station*>& stations, const std::function<bool()>& done) {
  const SteadyClock clock;
  const TimePoint until = clock.now() + std::chrono::seconds(10);
  while (!done()) {
    if (clock.now() > until) return false;
    for (Station* const station : stations) station->step();
    std::this_thread::yield();  // a driver may need other threads to move on
  }
  return true;
}

}  // namespace muster::comm
