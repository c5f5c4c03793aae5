#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace muster::bench {

/// Which of the two ends of a wire.
enum class End : bool { driver, partner };

/// One end of a connection whose speed is measured: our proxy, or bare libzmq. A message holds
/// `size` bytes that the sender has in memory and does not change.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual void send(std::size_t size) = 0;
  /// Waits for a message, and returns its size. Fails after a minute.
  virtual std::size_t receive() = 0;
  /// Sends memory that the wire itself lends, and that nobody fills; where a wire has such memory.
  virtual void hand_over(std::size_t size) { send(size); }
};

/// What a wire is made from. Travels to the partner's process as arguments of a command line.
struct WireSpec {
  /// "shm", "shm-sleep", "zmq-tcp", "zmq-ipc", "inproc"; bare libzmq: "raw-tcp-push",
  /// "raw-tcp-pair" and the same with ipc and inproc.
  std::string kind;
  /// A folder of this wire's own, in which its ends find each other.
  std::string meeting_place;
};

[[nodiscard]] std::unique_ptr<Wire> make_wire(const WireSpec& spec, End end);

/// Whether both ends live in one process.
[[nodiscard]] bool within_process(const WireSpec& spec);

/// Whether its ends watch memory and so need a core each. What sleeps on sockets is faster where
/// the scheduler puts it.
[[nodiscard]] bool watches_memory(const WireSpec& spec);

[[nodiscard]] std::unique_ptr<Wire> make_muster_wire(const WireSpec& spec, End end);
[[nodiscard]] std::unique_ptr<Wire> make_zmq_wire(const WireSpec& spec, End end);

/// The largest message that is measured.
inline constexpr std::size_t kLargest = std::size_t{64} << 20;

/// `kLargest` bytes that live until the process ends. Two of them take turns, because a proxy that
/// is given the same memory again knows that it has copied it already.
[[nodiscard]] const std::byte* payload(std::size_t turn);

}  // namespace muster::bench
