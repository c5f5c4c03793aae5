#pragma once

#include <cstdint>
#include <string>

namespace muster::comm {

enum class ZmqProtocol : std::uint8_t { tcp, ipc };

struct ZmqOptions {
  ZmqProtocol protocol = ZmqProtocol::tcp;
  /// Where to listen: an IP address, the name of a network interface, or "0.0.0.0" or "*" for all.
  /// Only for tcp; ipc listens in the abstract namespace, which leaves nothing on the disk.
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: any free one
  /// What peers are told to connect to, HOST or HOST:PORT, where that differs from where we listen
  /// (behind NAT, in a container). Empty: the address that we listen on, or that of the first
  /// interface when it is all of them.
  std::string advertise;
};

}  // namespace muster::comm
