#include "muster/comm/collective/shared/handover.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/comm/errc.h"
#include "muster/runtime/poll.h"
#include "muster/runtime/unix_socket.h"

namespace muster::comm::collective::shared {
namespace {

struct Request {
  std::uint64_t token[2];
  std::int32_t rank;
  std::int32_t unused = 0;
};

constexpr Duration kMoment = std::chrono::milliseconds(5);

TimePoint now() { return std::chrono::steady_clock::now(); }

bool same_user(const FileDescriptor& socket) {
  const auto peer = peer_process(socket);
  return peer && peer->uid == ::geteuid();
}

// Nobody listens any more, which has a reason that will be heard of, or there is a crowd.
bool may_become_better(const Error& error) {
  return error.code() == std::errc::connection_refused ||
         error.code() == std::errc::resource_unavailable_try_again ||
         error.code() == std::errc::interrupted;
}

/// A connection on which the segment will come, or nothing when that has to be tried again.
Result<std::optional<FileDescriptor>> ask_for_segment(const Counter& counter, int rank) {
  auto connected = connect_unix(counter.socket);
  if (!connected && may_become_better(connected.error())) return std::nullopt;
  if (!connected) return fail(connected.error());
  if (!same_user(*connected))
    return fail(Errc::refused, "the group's memory is offered by another user");
  const Request request{{counter.token[0], counter.token[1]}, rank};
  if (send_packet(*connected, std::as_bytes(std::span(&request, 1))) != PacketStatus::done)
    return std::nullopt;
  return *std::move(connected);
}

}  // namespace

Result<Handover> Handover::open(FileDescriptor segment, int ranks) {
  Counter counter;
  counter.socket = fmt::format("muster-group-{:016x}", secure_random_u64());
  for (auto& word : counter.token) word = secure_random_u64();
  auto listener = listen_unix(counter.socket);
  if (!listener) return fail(listener.error());
  return Handover(std::move(segment), *std::move(listener), std::move(counter), ranks);
}

Handover::Handover(FileDescriptor segment, FileDescriptor listener, Counter counter, int ranks)
    : segment_(std::move(segment)),
      listener_(std::move(listener)),
      counter_(std::move(counter)),
      served_(static_cast<std::size_t>(ranks)) {
  served_[0] = true;
}

std::vector<int> Handover::waiting_for() const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < served_.size(); ++rank)
    if (!served_[rank]) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

bool Handover::serve(Duration moment) {
  if (waiting_for().empty()) return true;
  std::vector<pollfd> slots{{listener_.get(), POLLIN, 0}};
  for (const FileDescriptor& caller : callers_) slots.push_back({caller.get(), POLLIN, 0});
  static_cast<void>(poll_until(slots, now() + moment));
  for (auto caller = accept_unix(listener_); caller && *caller; caller = accept_unix(listener_)) {
    if (same_user(**caller)) callers_.push_back(**std::move(caller));
  }
  std::erase_if(callers_, [&](const FileDescriptor& caller) {
    Packet packet;
    const PacketStatus status = receive_packet(caller, sizeof(Request), packet);
    if (status == PacketStatus::would_block || status == PacketStatus::starved) return false;
    Request request{};
    if (status == PacketStatus::ended || packet.bytes.size() != sizeof request) return true;
    std::memcpy(&request, packet.bytes.data(), sizeof request);
    const auto rank = static_cast<std::size_t>(request.rank);
    const bool knows = std::memcmp(request.token, counter_.token, sizeof counter_.token) == 0;
    if (!knows || rank >= served_.size()) return true;
    const int file = segment_.get();
    const std::byte word{1};
    if (send_packet(caller, {&word, 1}, {&file, 1}) == PacketStatus::done) served_[rank] = true;
    return true;
  });
  return waiting_for().empty();
}

Result<FileDescriptor> fetch_segment(const Counter& counter, int rank,
                                     const std::function<Result<void>(Duration)>& go_on) {
  std::optional<FileDescriptor> socket;
  while (true) {
    if (!socket) {
      auto asked = ask_for_segment(counter, rank);
      if (!asked) return fail(asked.error().within("fetch the group's memory from rank 0"));
      socket = *std::move(asked);
    }
    if (socket) {
      std::vector<pollfd> slots{{socket->get(), POLLIN, 0}};
      static_cast<void>(poll_until(slots, now() + kMoment));
      Packet packet;
      switch (receive_packet(*socket, 16, packet)) {
        case PacketStatus::done:
          if (packet.files.size() == 1) return std::move(packet.files.front());
          return fail(Errc::malformed, "the group's memory did not come");
        case PacketStatus::starved:
          return fail(system_error(EMFILE, "fetch the group's memory from rank 0"));
        case PacketStatus::ended: socket.reset(); break;
        case PacketStatus::would_block: break;
      }
    }
    if (auto ok = go_on(socket ? Duration::zero() : kMoment); !ok) return fail(ok.error());
  }
}

}  // namespace muster::comm::collective::shared
