#pragma once

#include <system_error>

namespace muster::comm {

/// The expected failures of communication. The numbers of the first block are those that users of
/// the predecessor know.
enum class Errc {
  internal = 1000,              ///< a failure with no better name
  store_unreachable = 1001,     ///< the discovery store does not answer
  peers_missing = 1002,         ///< no such peer, or no peers given
  discovery_incomplete = 1003,  ///< not all expected peers came in time
  peer_connection =
      1004,            ///< a peer could not be connected, or was lost while something waited for it
  send_failed = 1005,  ///< a message could not be sent
  receive_failed = 1006,      ///< receiving failed
  session_type = 1007,        ///< a move that the session does not allow
  event_syntax = 1008,        ///< a conditional event that cannot be read
  driver_type = 1009,         ///< no such driver, or it is unavailable here
  socket_type = 1010,         ///< an address that the driver cannot use
  peer_disconnection = 1011,  ///< a peer could not be disconnected
  pending = 1012,             ///< the peer is away and may come back
  rejoin_timeout = 1013,      ///< too few peers came back in time
  would_block = 1100,         ///< a queue is full
  timeout = 1101,             ///< the deadline passed
  closed = 1102,              ///< the object is closed
  malformed = 1103,           ///< bytes that are not what they claim to be
  session_closed = 1104,      ///< a reply to a session that has ended
  refused = 1105,             ///< not allowed without a secret, or the secret is wrong
  forked = 1106,              ///< used in a child process that inherited it through fork
  inbox_full = 1107,          ///< too many received messages wait for somebody to take them
  interrupted = 1108,         ///< the program asked a waiting call to end
  rank_lost = 1200,           ///< a rank of the group died, fell silent or left
  mismatch = 1201,            ///< the ranks of a group called different things
  expelled = 1202,            ///< the group went on without this rank
  cancelled = 1203,           ///< a call was given up, here or by another rank
  group_full = 1204,          ///< more came than the group has ranks, or two for one rank
  function_failed = 1205,     ///< the reduction function of a rank threw an exception
};

std::error_code make_error_code(Errc errc);

}  // namespace muster::comm

template <>
struct std::is_error_code_enum<muster::comm::Errc> : std::true_type {};
