#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <variant>

#include "muster/base/result.h"
#include "muster/comm/discovery/entry.h"
#include "muster/comm/driver/shm/link_memory.h"
#include "muster/comm/driver/shm/secret_proof.h"
#include "muster/runtime/fd.h"
#include "muster/runtime/unix_socket.h"

namespace muster::comm::shm {

/// What goes over the unix connection of a link: the handshake, and the sender's segments.

/// From the sender, first where a secret is set: it will prove that it knows it, and wants proof.
struct Knock {
  Nonce nonce;
};
/// From the receiver, after a knock. The proof (`Role::listener`) claims group and instance.
struct Answer {
  Nonce nonce;
  std::string proof;
};
/// From the sender, first or after an answer: who it is, and whom it means. Only those who may read
/// the discovery store know the target's instance. The proof (`Role::caller`) claims the text.
struct Hello {
  std::string proof;  ///< empty without a secret
  std::string text;   ///< all that follows but the files, as it was sent
  Entry entry;
  std::string group;
  InstanceId target;
  std::string doorbell;
  FileDescriptor link;  ///< a LinkMemory
  FileDescriptor doorbell_page;
};
/// From the receiver: it has mapped the link.
struct Welcome {
  std::string doorbell;
  FileDescriptor doorbell_page;
};
/// From the receiver, before it closes.
struct Refusal {
  bool for_good = true;  ///< false: it may be different another time
  std::string why;
};
/// From the sender: frames may now refer to this segment.
struct SegmentOpened {
  std::uint32_t segment = 0;
  FileDescriptor memory;
};
/// From the sender: no frame will refer to it again, and no block of it is held.
struct SegmentRetired {
  std::uint32_t segment = 0;
};
using LinkPacket =
    std::variant<Knock, Answer, Hello, Welcome, Refusal, SegmentOpened, SegmentRetired, Farewell>;

/// A longer packet is none of ours.
inline constexpr std::size_t kMaxPacketBytes = 80 * 1024;

/// Sends; the descriptors are lent.
[[nodiscard]] PacketStatus send_knock(const FileDescriptor& socket, const Nonce& nonce);
[[nodiscard]] PacketStatus send_answer(const FileDescriptor& socket, const Nonce& nonce,
                                       const std::string& proof);
[[nodiscard]] std::string hello_text(const Entry& self, const std::string& group, InstanceId target,
                                     const std::string& doorbell);
/// `proof` is empty without a secret.
[[nodiscard]] PacketStatus send_hello(const FileDescriptor& socket, const std::string& text,
                                      const std::string& proof, int link, int doorbell_page);
[[nodiscard]] PacketStatus send_welcome(const FileDescriptor& socket, const std::string& doorbell,
                                        int doorbell_page);
void send_refusal(const FileDescriptor& socket, bool for_good, const std::string& why);
[[nodiscard]] PacketStatus send_segment_opened(const FileDescriptor& socket, std::uint32_t segment,
                                               int memory);
[[nodiscard]] PacketStatus send_segment_retired(const FileDescriptor& socket,
                                                std::uint32_t segment);
/// `Farewell::none` sends nothing.
void send_farewell(const FileDescriptor& socket, Farewell farewell);

/// Reads a packet that came from outside. `Errc::malformed` when it is none of the above.
[[nodiscard]] Result<LinkPacket> read_packet(Packet packet);

/// What the receiver of a hello has to find out before it believes it.
struct Expected {
  const std::string& group;
  InstanceId self;
};
enum class HelloVerdict : std::uint8_t { welcome, stranger, stale };
[[nodiscard]] HelloVerdict judge(const Hello& hello, const Expected& expected);

/// Only processes of the same user may share memory.
[[nodiscard]] bool may_connect(const PeerProcess& peer, uid_t own_uid);

}  // namespace muster::comm::shm
