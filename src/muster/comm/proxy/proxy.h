#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/message/message.h"
#include "muster/comm/message/session_ids.h"
#include "muster/comm/proxy/options.h"

namespace muster::comm {

/// What came back for requests that were sent.
struct Replies {
  std::vector<Message> messages;
  /// Peers that went away before they answered, once for each missing reply. Their replies will not
  /// come.
  std::vector<Name> lost;
};

enum class Acknowledge : bool { no, yes };

/// Counts since the proxy joined.
struct ProxyCounters {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t duplicates = 0;  ///< dropped because the session had them already
  std::uint64_t rejoins = 0;     ///< peers that came back
  DriverCounters drivers;        ///< summed over the drivers
};

/// A component's connection to its group: finds the expected peers, sends and receives, notices who
/// dies and who comes back.
///
/// Made by `join`, which returns when the expected peers are there; ends with `close` or the
/// destructor, which wait at most the linger time. Thread-safe: several threads may send and
/// receive at the same time. A proxy inherited through fork fails every call with `Errc::forked`
/// and does nothing when it is destroyed.
class Proxy {
 public:
  /// Returns when the expected peers have been met. Throws std::invalid_argument for options that
  /// can never be right.
  [[nodiscard]] static Result<Proxy> join(ProxyOptions options);

  Proxy(Proxy&&) noexcept;
  Proxy& operator=(Proxy&&) noexcept;
  ~Proxy();

  [[nodiscard]] const std::string& group() const;
  /// As it joined, with what was made up or taken from the environment.
  [[nodiscard]] const ProxyOptions& options() const;
  [[nodiscard]] const Name& type() const;
  [[nodiscard]] const Name& name() const;
  /// The peers that are there now, by type, sorted by name.
  [[nodiscard]] std::map<Name, std::vector<Name>> peers() const;
  /// Those that are silent: they may come back as they were.
  [[nodiscard]] std::vector<Name> silent_peers() const;
  /// Changes whenever a peer comes or goes.
  [[nodiscard]] std::uint64_t peers_version() const;
  /// The type of a peer that is or was there; empty for a stranger.
  [[nodiscard]] Name type_of(std::string_view peer) const;

  /// The next message that no `receive_by_id` waits for; nothing when none came in time.
  [[nodiscard]] Result<std::optional<Message>> receive_once(Timeout timeout = {});

  /// The messages of the given sessions, as many for each as it is named. Returns early with fewer
  /// at the timeout, or when all that are missing are lost. Other messages stay for `receive_once`.
  [[nodiscard]] Result<Replies> receive_by_id(std::span<const SessionId> sessions,
                                              Timeout timeout = {});

  /// Sends without waiting for a reply. Returns the session; first, the sessions of messages that
  /// were kept while the peer was away and went out with this one. `Errc::pending` when the peer is
  /// away, whether or not the message was kept for it.
  Result<SessionIds> isend(Message&& message);
  Result<SessionIds> isend(const Message& message);
  /// Sends and waits for the replies.
  Result<Replies> send(Message message, Timeout timeout = {});

  using DestinationBodies = std::vector<std::pair<Name, Body>>;
  /// A message of its own for each destination. Peers that are away (with rejoin enabled) have no
  /// session in the result.
  Result<SessionIds> iscatter(Tag tag, SessionType type, const DestinationBodies& destinations);
  Result<Replies> scatter(Tag tag, SessionType type, const DestinationBodies& destinations,
                          Timeout timeout = {});

  /// One message for all peers of a type. The session is returned once for each of them.
  Result<SessionIds> ibroadcast(std::string_view peer_type, Tag tag, SessionType type,
                                Body body = {});
  Result<Replies> broadcast(std::string_view peer_type, Tag tag, SessionType type, Body body = {},
                            Timeout timeout = {});

  /// Answers `message` in its session; with `Acknowledge::yes` only says that it arrived. An empty
  /// tag keeps the tag of the message. `Errc::session_closed` when the session has ended.
  Result<SessionIds> reply(const Message& message, Tag tag = {}, Body body = {},
                           Acknowledge acknowledge = Acknowledge::no);
  /// Passes a message on within its session; its tag and body too, unless others are given.
  Result<SessionIds> forward(const Message& message, Name destination, Tag tag = {},
                             std::optional<Body> body = {});

  /// Memory for a body that is to be sent: on this host it is handed over without a copy.
  [[nodiscard]] Result<WritableBuffer> allocate(std::size_t bytes);

  [[nodiscard]] ProxyCounters counters() const;

  /// For how long the others wait from now on until this one is heard of again in the store.
  void set_lease(Duration lease);

  /// Waits until what was sent has reached the peers that are there: true. False when the time was
  /// up before that, and when the proxy is closed, by now or meanwhile: then nobody can tell. A
  /// peer whose inbox is full takes nothing in, so others have to receive meanwhile.
  bool flush(Duration timeout);

  /// Leaves the group: tells the peers, waits up to the linger time for what was sent, frees
  /// everything. Calls that wait in other threads end with `Errc::closed`. Idempotent.
  void close();

 private:
  class Impl;
  explicit Proxy(std::unique_ptr<Impl> impl);
  [[nodiscard]] Result<void> usable() const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::comm
