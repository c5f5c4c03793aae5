#include "muster/runtime/doorbell.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/runtime/futex.h"

namespace muster {
namespace {

constexpr std::size_t kPageBytes = 4096;

using Word = std::atomic<std::uint32_t>;
static_assert(Word::is_always_lock_free);

Word& word_of(const Mapping& page) { return *std::launder(reinterpret_cast<Word*>(page.data())); }

// The page also counts rings that found the receiver awake but about to sleep: none is needed,
// because `prepare` stores the state before the receiver looks for work a last time, and a ringer
// publishes its work before it loads the state.
void ring_page(const Mapping& page, const FileDescriptor& socket, const std::string& socket_name) {
  Word& word = word_of(page);
  if (word.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(Doorbell::Sleep::awake))
    return;
  const auto before = static_cast<Doorbell::Sleep>(
      word.exchange(static_cast<std::uint32_t>(Doorbell::Sleep::awake)));
  if (before == Doorbell::Sleep::on_word) futex_wake(word);
  if (before != Doorbell::Sleep::on_fd) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, socket_name.data(), socket_name.size());
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + socket_name.size());
  // A full queue means that it is ringing already; a receiver that is gone needs no ring.
  ::sendto(socket.get(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), length);
}

Result<FileDescriptor> datagram_socket() {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(system_error(errno, "make a unix socket"));
  return socket;
}

}  // namespace

Result<std::unique_ptr<Doorbell>> Doorbell::create() {
  auto page_fd = create_memory_file("muster-doorbell", kPageBytes);
  if (!page_fd) return fail(page_fd.error());
  auto page = Mapping::map(page_fd->get(), kPageBytes);
  if (!page) return fail(page.error());
  auto socket = datagram_socket();
  if (!socket) return fail(socket.error());
  const std::string name =
      fmt::format("muster-bell-{:016x}{:016x}", secure_random_u64(), secure_random_u64());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket->get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
    return fail(system_error(errno, "bind a unix socket"));
  new (page->data()) Word(static_cast<std::uint32_t>(Sleep::awake));
  return std::unique_ptr<Doorbell>(
      new Doorbell(*std::move(page_fd), *std::move(page), *std::move(socket), name));
}

Doorbell::Doorbell(FileDescriptor page_fd, Mapping page, FileDescriptor socket,
                   std::string socket_name)
    : page_fd_(std::move(page_fd)),
      page_(std::move(page)),
      socket_(std::move(socket)),
      socket_name_(std::move(socket_name)) {}

void Doorbell::prepare(Sleep how) {
  prepared_ = how;
  word_of(page_).store(static_cast<std::uint32_t>(how), std::memory_order_seq_cst);
}

void Doorbell::sleep(Deadline deadline) {
  futex_wait(word_of(page_), static_cast<std::uint32_t>(Sleep::on_word), deadline);
}

void Doorbell::awake() {
  word_of(page_).store(static_cast<std::uint32_t>(Sleep::awake), std::memory_order_seq_cst);
  // A ring may lie in the socket, also a late one of an earlier sleep.
  if (prepared_ != Sleep::on_fd) return;
  char rung[8];
  while (::recv(socket_.get(), rung, sizeof rung, MSG_DONTWAIT) >= 0) {
  }
}

void Doorbell::ring() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ring_page(page_, socket_, socket_name_);
}

RemoteDoorbell::RemoteDoorbell(Mapping page, std::shared_ptr<const FileDescriptor> socket,
                               std::string socket_name)
    : page_(std::move(page)), socket_(std::move(socket)), socket_name_(std::move(socket_name)) {}

Result<std::shared_ptr<const FileDescriptor>> RemoteDoorbell::ringing_socket() {
  auto socket = datagram_socket();
  if (!socket) return fail(socket.error());
  return std::make_shared<const FileDescriptor>(*std::move(socket));
}

Result<RemoteDoorbell> RemoteDoorbell::open(FileDescriptor page_fd, std::string socket_name) {
  auto socket = ringing_socket();
  if (!socket) return fail(socket.error());
  return open(std::move(page_fd), std::move(socket_name), *std::move(socket));
}

Result<RemoteDoorbell> RemoteDoorbell::open(FileDescriptor page_fd, std::string socket_name,
                                            std::shared_ptr<const FileDescriptor> socket) {
  if (socket_name.empty() || socket_name.size() + 1 >= sizeof(sockaddr_un::sun_path)) {
    return fail(system_error(EINVAL, fmt::format("open the doorbell '{}'", socket_name)));
  }
  const auto bytes = memory_file_bytes(page_fd.get());
  if (!bytes) return fail(bytes.error());
  if (*bytes != kPageBytes) {
    return fail(system_error(EINVAL, fmt::format("open a doorbell of {} bytes", *bytes)));
  }
  auto page = Mapping::map(page_fd.get(), kPageBytes);
  if (!page) return fail(page.error());
  return RemoteDoorbell(*std::move(page), std::move(socket), std::move(socket_name));
}

void RemoteDoorbell::ring() const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ring_lightly();
}
void RemoteDoorbell::ring_lightly() const { ring_page(page_, *socket_, socket_name_); }

}  // namespace muster
