#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/runtime/fd.h"
#include "muster/runtime/mapping.h"

namespace muster {

/// How a receiver sleeps until somebody leaves something in memory for it. One word in a page that
/// the ringers map too says whether it is awake, sleeps on that word (futex), or sleeps on a file
/// descriptor (because it watches others as well). Ringing costs a fence and a load while the
/// receiver is awake.
///
/// Protocol of the receiver: `prepare(how)`, look once more whether there is work, then sleep
/// (`sleep` or poll(2) on `fd()`), then `awake()`. Protocol of a ringer: publish the work, then
/// `ring()`.
class Doorbell {
 public:
  enum class Sleep : std::uint32_t { awake = 0, on_word = 1, on_fd = 2 };

  /// Makes a page and a datagram socket in the abstract namespace, which leave nothing behind when
  /// the process is killed.
  [[nodiscard]] static Result<std::unique_ptr<Doorbell>> create();

  /// The page, to be passed to ringers in other processes.
  [[nodiscard]] int page_fd() const { return page_fd_.get(); }
  /// The abstract name of the socket, for them too.
  [[nodiscard]] const std::string& socket_name() const { return socket_name_; }
  /// Readable after a ring while asleep on it.
  [[nodiscard]] int fd() const { return socket_.get(); }

  void prepare(Sleep how);
  /// Sleeps on the word until a ring or the deadline. Only after `prepare(Sleep::on_word)`.
  void sleep(Deadline deadline);
  /// Ends the sleep and takes rings off the descriptor.
  void awake();

  /// From any thread of this process, after the reason for the ring was published where the
  /// receiver looks before it sleeps.
  void ring();

 private:
  Doorbell(FileDescriptor page_fd, Mapping page, FileDescriptor socket, std::string socket_name);

  FileDescriptor page_fd_;
  Mapping page_;
  FileDescriptor socket_;
  std::string socket_name_;
  Sleep prepared_ = Sleep::awake;
};

/// A doorbell of another process (or of this one), as a ringer holds it.
class RemoteDoorbell {
 public:
  /// Maps the page, which may come from a stranger; takes the descriptor.
  [[nodiscard]] static Result<RemoteDoorbell> open(FileDescriptor page_fd, std::string socket_name);
  /// The same with a socket of `ringing_socket()` that many doorbells share: with hundreds of
  /// peers, descriptors are scarce.
  [[nodiscard]] static Result<RemoteDoorbell> open(FileDescriptor page_fd, std::string socket_name,
                                                   std::shared_ptr<const FileDescriptor> socket);
  [[nodiscard]] static Result<std::shared_ptr<const FileDescriptor>> ringing_socket();

  /// Thread-safe. After the reason for the ring was published.
  void ring() const;
  /// The same without the fence, which takes as long as it takes others to see what was published,
  /// 100 ns while they look at it. For receivers that look for some microseconds after `prepare`
  /// before they sleep: what was published becomes visible meanwhile. Should a ring be missed all
  /// the same, a sleep must not be long.
  void ring_lightly() const;

 private:
  RemoteDoorbell(Mapping page, std::shared_ptr<const FileDescriptor> socket,
                 std::string socket_name);

  Mapping page_;
  std::shared_ptr<const FileDescriptor> socket_;
  std::string socket_name_;
};

}  // namespace muster
