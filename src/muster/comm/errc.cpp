#include "muster/comm/errc.h"

#include "muster/base/error_category.h"

namespace muster::comm {
namespace {

const char* text(Errc errc) {
  switch (errc) {
    case Errc::internal: return "communication failed";
    case Errc::store_unreachable: return "the discovery store does not answer";
    case Errc::peers_missing: return "peers are missing";
    case Errc::discovery_incomplete: return "not all expected peers were found";
    case Errc::peer_connection: return "the connection to a peer failed";
    case Errc::send_failed: return "a message could not be sent";
    case Errc::receive_failed: return "receiving failed";
    case Errc::session_type: return "the session does not allow this";
    case Errc::event_syntax: return "the conditional event cannot be read";
    case Errc::driver_type: return "no such driver";
    case Errc::socket_type: return "the address does not fit the driver";
    case Errc::peer_disconnection: return "a peer could not be disconnected";
    case Errc::pending: return "the peer is away";
    case Errc::rejoin_timeout: return "too few peers came back in time";
    case Errc::would_block: return "a queue is full";
    case Errc::timeout: return "the deadline passed";
    case Errc::closed: return "closed";
    case Errc::malformed: return "malformed bytes";
    case Errc::session_closed: return "the session has ended";
    case Errc::refused: return "refused";
    case Errc::forked: return "inherited through fork";
    case Errc::inbox_full: return "too many messages wait to be received";
    case Errc::interrupted: return "interrupted";
    case Errc::rank_lost: return "a rank of the group is lost";
    case Errc::mismatch: return "the ranks called different things";
    case Errc::expelled: return "the group went on without this rank";
    case Errc::cancelled: return "the call was given up";
    case Errc::group_full: return "the group has no room";
    case Errc::function_failed: return "a reduction function failed";
  }
  return "unknown communication error";
}

}  // namespace

std::error_code make_error_code(Errc errc) {
  static const ErrorCategory<Errc> category("muster.comm", text);
  return {static_cast<int>(errc), category};
}

}  // namespace muster::comm
