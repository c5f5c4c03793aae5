// The side of the driver that deals with connections: who comes, who goes.
#include <algorithm>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/comm/driver/shm/driver_impl.h"
#include "muster/comm/errc.h"

namespace muster::comm::shm {
namespace {

// Nobody needs more; more would be an attempt to use up our descriptors.
constexpr std::size_t kMaxArrivals = 1024;

}  // namespace

Result<void> ShmDriver::connect(PeerId id, const Entry& entry) {
  if (closed_) return fail(Errc::closed, "the shm driver is closed");
  const auto address = entry.addresses.find("shm");
  if (address == entry.addresses.end()) {
    return fail(Errc::socket_type, fmt::format("peer '{}' has no shm address", entry.name.view()));
  }
  Peer& peer = peers_[id];
  if (peer.out || peer.ended) return {};
  peer.name = entry.name;
  auto out = Outbound::create(outbound_common_, entry, address->second, options_.ring_bytes);
  if (out) {
    peer.out = *std::move(out);
    const auto connected = try_connect(id, peer);
    note_change();
    if (connected) return {};
    out = fail(connected.error());
    peer.out.reset();
  }
  if (!peer.in) forget(peers_.find(id));
  return fail(out.error().within(fmt::format("connect to peer '{}' over shm", entry.name.view())));
}

Result<void> ShmDriver::try_connect(PeerId id, Peer& peer) {
  const auto connected = peer.out->try_connect();
  if (!connected) return fail(connected.error());
  if (!*connected) {
    connecting_.push_back(id);
    retry_at_ = earlier(retry_at_, context_.clock.now() + kRetry);
    return {};
  }
  watch(peer.out->socket().get(), Source::outbound, id.value());
  if (const auto process = peer_process(peer.out->socket())) {
    watch_process_of(id, peer, process->pid);
  }
  return {};
}

void ShmDriver::retry_connects() {
  for (const PeerId id : std::exchange(connecting_, {})) {
    const auto found = peers_.find(id);
    if (found == peers_.end() || !found->second.out || found->second.out->connected()) continue;
    if (auto connected = try_connect(id, found->second); !connected) {
      end(id, found->second, connected.error().message());
    }
  }
}

// A process whose sockets a child inherited is dead although they stay open.
void ShmDriver::watch_process_of(PeerId id, Peer& peer, pid_t pid) {
  if (peer.process || pid <= 0) return;
  auto process = watch_process(pid);
  if (!process) return;
  watch(process->get(), Source::process, id.value());
  peer.process = std::make_shared<const FileDescriptor>(*std::move(process));
}

void ShmDriver::disconnect(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Peer peer = std::move(found->second);
  forget(found);
  std::erase(ended_, id);
  drop(peer, Farewell::forgetting);
  note_change();
}

void ShmDriver::drop(Peer& peer, Farewell farewell) {
  if (peer.process) epoll_.remove(peer.process->get());
  // Closing is not enough for epoll where a child process inherited the descriptor.
  if (peer.out) epoll_.remove(peer.out->socket().get());
  if (peer.out) peer.out->close(farewell, peer.process);
  if (peer.in) epoll_.remove(peer.in->socket().get());
  if (peer.in) peer.in->close(farewell);
  peer.out.reset();
  peer.in.reset();
}

void ShmDriver::on_control(DriverSink& sink) {
  if (closed_) return;
  const auto keys = epoll_.ready();
  // Whoever died may have knocked before, and what it sent is to be delivered before its departure.
  accept_arrivals();
  read_arrivals(sink);
  for (const std::uint64_t key : keys) {
    const PeerId id(static_cast<std::uint32_t>(key));
    switch (static_cast<Source>(key >> 32u)) {
      case Source::listener:
      case Source::arrival: break;
      case Source::outbound: on_outbound(id); break;
      case Source::inbound: on_inbound(id); break;
      case Source::process:
        on_inbound(id);
        on_outbound(id);
        if (const auto peer = peers_.find(id); peer != peers_.end()) {
          end(id, peer->second, "its process died");
        }
        break;
    }
  }
  if (!ended_.empty()) report_departures(sink);
}

void ShmDriver::accept_arrivals() {
  for (;;) {
    auto accepted = accept_unix(listener_);
    if (!accepted) return set_aside(listener_.get(), Source::listener);
    auto& socket = *accepted;
    if (!socket) return;
    const auto process = peer_process(*socket);
    if (!process || !may_connect(*process, ::geteuid()) || arrivals_.size() >= kMaxArrivals) {
      ++counters_.strangers;
      log(LogLevel::warning, "comm", "shm: refused a connection of user {}",
          process ? static_cast<std::int64_t>(process->uid) : -1);
      continue;
    }
    watch(socket->get(), Source::arrival, next_arrival_);
    arrivals_.emplace(next_arrival_++, Arrival{*std::move(socket), *process});
  }
}

void ShmDriver::read_arrivals(DriverSink& sink) {
  // The sink may call back into the driver and even close it.
  for (auto& [number, arrival] : std::exchange(arrivals_, {})) {
    if (closed_ || read_arrival(number, arrival, sink)) {
      if (arrival.socket) epoll_.remove(arrival.socket.get());
    } else {
      arrivals_.emplace(number, std::move(arrival));
    }
  }
}

// True when it is dealt with, false when its hello is not there yet.
bool ShmDriver::read_arrival(std::uint32_t number, Arrival& arrival, DriverSink& sink) {
  Packet raw;
  const PacketStatus status = receive_packet(arrival.socket, kMaxPacketBytes, raw);
  if (status == PacketStatus::starved) {
    set_aside(arrival.socket.get(), Source::arrival, number);
    return false;
  }
  if (status == PacketStatus::would_block) return false;
  if (status == PacketStatus::ended) return true;
  auto packet = read_packet(std::move(raw));
  if (!packet) {
    refuse(arrival, counters_.malformed, packet.error().message());
  } else if (const auto* knock = std::get_if<Knock>(&*packet)) {
    return !on_knock(arrival, *knock);
  } else if (auto* hello = std::get_if<Hello>(&*packet)) {
    on_hello(arrival, std::move(*hello), sink);
  } else {
    refuse(arrival, counters_.malformed, "it did not say hello first");
  }
  return true;
}

void ShmDriver::refuse(const Arrival& arrival, std::uint64_t& counter, const std::string& why) {
  ++counter;
  log(LogLevel::warning, "comm", "shm: refused a connection of process {}: {}", arrival.process.pid,
      why);
  send_refusal(arrival.socket, true, why);
}

// What was sent makes no sense, or this process lacks something, which may pass.
void ShmDriver::refuse(const Arrival& arrival, const Error& error) {
  const bool passes = error.code() == std::errc::not_enough_memory ||
                      error.code() == std::errc::too_many_files_open ||
                      error.code() == std::errc::too_many_files_open_in_system;
  if (!passes) return refuse(arrival, counters_.malformed, error.message());
  log(LogLevel::warning, "comm", "shm: cannot take a connection of process {} now: {}",
      arrival.process.pid, error.message());
  send_refusal(arrival.socket, false, error.message());
}

bool ShmDriver::on_knock(Arrival& arrival, const Knock& knock) {
  if (!secret_) {
    refuse(arrival, counters_.strangers, "it has a secret, and here none is set (MUSTER_SECRET)");
    return false;
  }
  arrival.handshake = {knock.nonce, fresh_nonce()};
  const std::string instance = fmt::format("{:016x}", context_.self.instance.value());
  return send_answer(arrival.socket, arrival.handshake->listener,
                     secret_->prove(Role::listener, *arrival.handshake,
                                    {context_.group, instance})) == PacketStatus::done;
}

bool ShmDriver::has_proved(const Arrival& arrival, const Hello& hello) const {
  if (!secret_) return true;
  return arrival.handshake &&
         secret_->holds(hello.proof, Role::caller, *arrival.handshake, {hello.text});
}

void ShmDriver::on_hello(Arrival& arrival, Hello hello, DriverSink& sink) {
  if (!has_proved(arrival, hello)) {
    return refuse(arrival, counters_.strangers,
                  "it has not proved to know the secret that is set here (MUSTER_SECRET)");
  }
  switch (judge(hello, {context_.group, context_.self.instance})) {
    case HelloVerdict::welcome: break;
    case HelloVerdict::stranger: return refuse(arrival, counters_.strangers, "another group");
    case HelloVerdict::stale: return refuse(arrival, counters_.stale, "meant for another instance");
  }
  auto memory = LinkMemory::open(std::move(hello.link));
  if (!memory) return refuse(arrival, memory.error());
  auto doorbell =
      RemoteDoorbell::open(std::move(hello.doorbell_page), hello.doorbell, ringing_socket_);
  if (!doorbell) return refuse(arrival, doorbell.error());
  const auto id = sink.on_hello(hello.entry);
  if (closed_) return;
  if (!id) {
    send_refusal(arrival.socket, false, "not wanted");
    return;
  }
  Peer& peer = peers_[*id];
  if (peer.in || peer.ended) return refuse(arrival, counters_.stale, "it is connected already");
  if (send_welcome(arrival.socket, context_.doorbell.socket_name(), context_.doorbell.page_fd()) ==
      PacketStatus::would_block) {
    log(LogLevel::error, "comm", "shm: cannot answer peer '{}'", hello.entry.name.view());
  }
  peer.name = hello.entry.name;
  peer.in = std::make_shared<Inbound>(hello.entry, context_.self.name, *std::move(memory),
                                      *std::move(doorbell), std::move(arrival.socket));
  epoll_.remove(peer.in->socket().get());
  watch(peer.in->socket().get(), Source::inbound, id->value());
  watch_process_of(*id, peer, arrival.process.pid);
  note_change();
}

void ShmDriver::on_outbound(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || !found->second.out || found->second.ended) return;
  Peer& peer = found->second;
  Packet raw;
  std::string why = "it closed the connection";
  for (;;) {
    const PacketStatus status = receive_packet(peer.out->socket(), kMaxPacketBytes, raw);
    if (status == PacketStatus::would_block) return;
    if (status == PacketStatus::starved) {
      return set_aside(peer.out->socket().get(), Source::outbound, id.value());
    }
    if (status == PacketStatus::ended) return end(id, peer, std::move(why));
    auto packet = read_packet(std::move(raw));
    if (!packet) return on_malformed(id, peer, packet.error());
    if (auto* welcome = std::get_if<Welcome>(&*packet)) {
      auto doorbell = RemoteDoorbell::open(std::move(welcome->doorbell_page), welcome->doorbell,
                                           ringing_socket_);
      if (!doorbell) return on_malformed(id, peer, doorbell.error());
      peer.out->welcome(*std::move(doorbell));
    } else if (const auto* answer = std::get_if<Answer>(&*packet)) {
      on_answer(id, peer, *answer);
    } else if (const auto* refusal = std::get_if<Refusal>(&*packet)) {
      why = fmt::format("it refused the connection: {}", refusal->why);
      if (!refusal->for_good) peer.departure = Departure::reset;
    } else if (const auto* farewell = std::get_if<Farewell>(&*packet)) {
      note_farewell(peer, *farewell);
    }
  }
}

void ShmDriver::on_answer(PeerId id, Peer& peer, const Answer& answer) {
  const auto answered = peer.out->on_answer(answer);
  if (answered) return;
  const Error& error = answered.error();
  if (error.is(Errc::malformed)) return on_malformed(id, peer, error);
  if (error.is(Errc::refused)) {
    ++counters_.strangers;
    log(LogLevel::warning, "comm", "shm: did not connect to peer '{}': {}", peer.name.view(),
        error.message());
  } else {
    peer.departure = Departure::reset;
  }
  end(id, peer, error.message());
}

void ShmDriver::on_inbound(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || !found->second.in || found->second.ended) return;
  Peer& peer = found->second;
  const auto status = peer.in->read_packets();
  if (!status) return on_malformed(id, peer, status.error());
  if (*status == PacketStatus::starved) {
    set_aside(peer.in->socket().get(), Source::inbound, id.value());
  }
  if (*status == PacketStatus::ended) end(id, peer, "it closed the connection");
}

// Nothing more will come from it or reach it. It is reported when what it sent is delivered.
void ShmDriver::end(PeerId id, Peer& peer, std::string why) {
  if (std::exchange(peer.ended, true)) return;
  peer.why = std::move(why);
  ended_.push_back(id);
  if (peer.in) {
    // The segments announced last are still to be read.
    static_cast<void>(peer.in->read_packets());
    epoll_.remove(peer.in->socket().get());
  }
  if (peer.process) epoll_.remove(peer.process->get());
  if (peer.out) epoll_.remove(peer.out->socket().get());
  note_change();
}

void ShmDriver::on_malformed(PeerId id, Peer& peer, const Error& error) {
  ++counters_.malformed;
  log(LogLevel::warning, "comm", "shm: closed the link of peer '{}': {}", peer.name.view(),
      error.message());
  end(id, peer, error.message());
  if (peer.in) peer.in->close(Farewell::none);
}

void ShmDriver::report_departures(DriverSink& sink) {
  for (const PeerId id : std::exchange(ended_, {})) {
    const auto found = peers_.find(id);
    if (found == peers_.end()) continue;
    Peer& ended = found->second;
    if (ended.in && !ended.in->closed() && ended.in->has_unread()) {
      ended_.push_back(id);
      continue;
    }
    if (ended.in && !ended.in->closed()) note_farewell(ended, ended.in->farewell());
    // What it did not take can be asked for until this returns.
    sink.on_departure(id, ended.departure, std::string(ended.why));
    if (const auto again = peers_.find(id); again != peers_.end()) {
      drop(again->second, Farewell::none);
      forget(again);
    }
    note_change();
  }
}

void ShmDriver::note_farewell(Peer& peer, Farewell farewell) {
  if (farewell == Farewell::closing) peer.departure = Departure::graceful;
  if (farewell == Farewell::forgetting) peer.departure = Departure::reset;
}

}  // namespace muster::comm::shm
