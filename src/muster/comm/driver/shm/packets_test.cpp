#include "muster/comm/driver/shm/packets.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/base/random.h"
#include "muster/comm/errc.h"
#include "muster/runtime/mapping.h"

namespace muster::comm::shm {
namespace {

FileDescriptor memory() { return create_memory_file("muster-test", 4096).value(); }

struct Sockets {
  FileDescriptor listener;
  FileDescriptor from;
  FileDescriptor to;

  Sockets() {
    const std::string name = "muster-test-" + std::to_string(secure_random_u64());
    listener = listen_unix(name).value();
    from = connect_unix(name).value();
    to = accept_unix(listener).value().value();
  }
  Packet next() {
    Packet packet;
    EXPECT_EQ(receive_packet(to, kMaxPacketBytes, packet), PacketStatus::done);
    return packet;
  }
};

Packet hello_packet(Sockets& sockets, const Entry& self) {
  const FileDescriptor link = memory();
  const FileDescriptor page = memory();
  EXPECT_EQ(send_hello(sockets.from, hello_text(self, "group", InstanceId(7), "bell"), "",
                       link.get(), page.get()),
            PacketStatus::done);
  return sockets.next();
}

TEST(Packets, CarryAHello) {
  Sockets sockets;
  const Entry self = local_entry("me", "test");
  auto packet = read_packet(hello_packet(sockets, self));
  ASSERT_TRUE(packet.has_value()) << packet.error().message();
  const auto& hello = std::get<Hello>(*packet);
  EXPECT_EQ(hello.entry, self);
  EXPECT_EQ(hello.group, "group");
  EXPECT_EQ(hello.target, InstanceId(7));
  EXPECT_EQ(hello.doorbell, "bell");
  EXPECT_TRUE(hello.link.valid() && hello.doorbell_page.valid());
}

TEST(Packets, CarryEverythingElse) {
  Sockets sockets;
  const FileDescriptor file = memory();
  ASSERT_EQ(send_welcome(sockets.from, "bell", file.get()), PacketStatus::done);
  EXPECT_EQ(std::get<Welcome>(read_packet(sockets.next()).value()).doorbell, "bell");
  send_refusal(sockets.from, false, "no");
  const auto refusal = read_packet(sockets.next());
  EXPECT_EQ(std::get<Refusal>(*refusal).why, "no");
  EXPECT_FALSE(std::get<Refusal>(*refusal).for_good);
  ASSERT_EQ(send_segment_opened(sockets.from, 9, file.get()), PacketStatus::done);
  EXPECT_EQ(std::get<SegmentOpened>(read_packet(sockets.next()).value()).segment, 9u);
  ASSERT_EQ(send_segment_retired(sockets.from, 9), PacketStatus::done);
  EXPECT_EQ(std::get<SegmentRetired>(read_packet(sockets.next()).value()).segment, 9u);
  for (const Farewell farewell : {Farewell::closing, Farewell::forgetting}) {
    send_farewell(sockets.from, farewell);
    EXPECT_EQ(std::get<Farewell>(read_packet(sockets.next()).value()), farewell);
  }
}

TEST(Packets, RefuseTruncatedHellos) {
  Sockets sockets;
  const Entry self = local_entry("me", "test");
  const auto whole = hello_packet(sockets, self).bytes;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Packet packet;
    packet.bytes.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    packet.files.push_back(memory());
    packet.files.push_back(memory());
    ASSERT_FALSE(read_packet(std::move(packet)).has_value()) << size;
  }
}

TEST(Packets, RefuseAHelloWithoutItsFiles) {
  Sockets sockets;
  Packet packet = hello_packet(sockets, local_entry("me", "test"));
  packet.files.pop_back();
  const auto read = read_packet(std::move(packet));
  ASSERT_FALSE(read.has_value());
  EXPECT_TRUE(read.error().is(Errc::malformed));
}

TEST(Packets, SurviveRandomBytes) {
  Random random(20260131);
  for (int i = 0; i < 20'000; ++i) {
    Packet packet;
    packet.bytes.resize(1 + random.below(64));
    for (std::byte& byte : packet.bytes) byte = static_cast<std::byte>(random.below(256));
    static constexpr std::string_view kKinds = "hwrstf";
    packet.bytes[0] = static_cast<std::byte>(kKinds[random.below(kKinds.size())]);
    static_cast<void>(read_packet(std::move(packet)));
  }
}

TEST(Judge, KnowsGroupAndInstance) {
  Hello hello;
  hello.group = "group";
  hello.target = InstanceId(7);
  const std::string group = "group";
  const std::string other = "other";
  EXPECT_EQ(judge(hello, {group, InstanceId(7)}), HelloVerdict::welcome);
  EXPECT_EQ(judge(hello, {group, InstanceId(8)}), HelloVerdict::stale);
  EXPECT_EQ(judge(hello, {other, InstanceId(7)}), HelloVerdict::stranger);
}

TEST(MayConnect, OnlyTheSameUser) {
  EXPECT_TRUE(may_connect({.pid = 1, .uid = 1000}, 1000));
  EXPECT_FALSE(may_connect({.pid = 1, .uid = 1001}, 1000));
  EXPECT_FALSE(may_connect({.pid = 1, .uid = 0}, 1000));
  EXPECT_FALSE(may_connect({.pid = 1, .uid = 1000}, 0));
}

}  // namespace
}  // namespace muster::comm::shm
