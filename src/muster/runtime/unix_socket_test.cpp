#include "muster/runtime/unix_socket.h"

#include <array>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/base/random.h"
#include "muster/runtime/mapping.h"

namespace muster {
namespace {

std::string fresh_name() { return fmt::format("muster-test-{:016x}", secure_random_u64()); }

struct Connection {
  FileDescriptor listener;
  FileDescriptor here;
  FileDescriptor there;
};

Connection connection() {
  Connection made;
  const std::string name = fresh_name();
  made.listener = listen_unix(name).value();
  made.here = connect_unix(name).value();
  made.there = accept_unix(made.listener).value().value();
  return made;
}

TEST(UnixSocket, PassesPacketsWithDescriptors) {
  Connection sockets = connection();
  const auto memory = create_memory_file("muster-test", 4096).value();
  const std::array files{memory.get()};
  ASSERT_EQ(send_packet(sockets.here, as_bytes("first"), files), PacketStatus::done);
  ASSERT_EQ(send_packet(sockets.here, as_bytes("second")), PacketStatus::done);
  Packet packet;
  ASSERT_EQ(receive_packet(sockets.there, 100, packet), PacketStatus::done);
  EXPECT_EQ(as_text(packet.bytes), "first");
  ASSERT_EQ(packet.files.size(), 1u);
  EXPECT_EQ(memory_file_bytes(packet.files[0].get()).value(), 4096u);
  ASSERT_EQ(receive_packet(sockets.there, 100, packet), PacketStatus::done);
  EXPECT_EQ(as_text(packet.bytes), "second");
  EXPECT_EQ(receive_packet(sockets.there, 100, packet), PacketStatus::would_block);
}

TEST(UnixSocket, SaysWhenAPacketIsTooLong) {
  Connection sockets = connection();
  ASSERT_EQ(send_packet(sockets.here, as_bytes("long")), PacketStatus::done);
  Packet packet;
  ASSERT_EQ(receive_packet(sockets.there, 3, packet), PacketStatus::done);
  EXPECT_TRUE(packet.truncated);
}

TEST(UnixSocket, DeliversWhatWasSentBeforeTheEnd) {
  Connection sockets = connection();
  // What the closing side has not read turns the end into a reset.
  ASSERT_EQ(send_packet(sockets.there, as_bytes("unread")), PacketStatus::done);
  ASSERT_EQ(send_packet(sockets.here, as_bytes("last")), PacketStatus::done);
  sockets.here.reset();
  Packet packet;
  ASSERT_EQ(receive_packet(sockets.there, 100, packet), PacketStatus::done);
  EXPECT_EQ(as_text(packet.bytes), "last");
  EXPECT_EQ(receive_packet(sockets.there, 100, packet), PacketStatus::ended);
  EXPECT_EQ(send_packet(sockets.there, as_bytes("x")), PacketStatus::ended);
}

TEST(UnixSocket, KnowsWhoIsThere) {
  Connection sockets = connection();
  for (const FileDescriptor* socket : {&sockets.here, &sockets.there}) {
    const auto process = peer_process(*socket);
    ASSERT_TRUE(process.has_value());
    EXPECT_EQ(process->pid, ::getpid());
    EXPECT_EQ(process->uid, ::geteuid());
  }
}

TEST(UnixSocket, IsRefusedWhereNobodyListens) {
  const auto socket = connect_unix(fresh_name());
  ASSERT_FALSE(socket.has_value());
  EXPECT_EQ(socket.error().code(), std::errc::connection_refused);
}

TEST(UnixSocket, RefusesNamesThatAreTooLong) {
  EXPECT_FALSE(listen_unix(std::string(200, 'x')).has_value());
  EXPECT_FALSE(connect_unix("").has_value());
}

TEST(WatchProcess, ShowsTheDeathOfAProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto process = watch_process(child);
  ASSERT_TRUE(process.has_value());
  pollfd slot{process->get(), POLLIN, 0};
  EXPECT_EQ(::poll(&slot, 1, 0), 0);
  ::kill(child, SIGKILL);
  EXPECT_EQ(::poll(&slot, 1, 10'000), 1);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(watch_process(child).has_value());
}

}  // namespace
}  // namespace muster
