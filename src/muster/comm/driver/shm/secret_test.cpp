// Who may not share memory: processes of the same user that do not know the secret.
#include <gtest/gtest.h>

#include "muster/base/random.h"
#include "muster/comm/driver/shm/packets.h"
#include "muster/comm/driver/shm/secret_proof.h"
#include "muster/comm/driver/shm/test_node.h"
#include "muster/runtime/mapping.h"

namespace muster::comm::shm {
namespace {

constexpr const char* kSecret = "open sesame";

TEST(ShmSecret, LetsThoseTalkWhoKnowIt) {
  TestNode a("a", {}, {}, "group", kSecret);
  TestNode b("b", {}, {}, "group", kSecret);
  const PeerId to = a.connect(b);
  EXPECT_FALSE(a.driver().established(to));
  const std::string large(1'000'000, 'x');
  ASSERT_EQ(a.driver().send(to, test_message(a.self(), 1, Body::text("early"))), SendStatus::sent);
  ASSERT_TRUE(run_until({&a, &b}, [&] { return a.driver().established(to); }));
  ASSERT_EQ(a.driver().send(to, test_message(a.self(), 2, Body::text(large))), SendStatus::sent);
  ASSERT_TRUE(run_until({&a, &b}, [&] { return b.received.size() == 2; }));
  EXPECT_EQ(b.received[0].body.text(), "early");
  EXPECT_EQ(b.received[1].body.text(), large);
}

TEST(ShmSecret, KeepsThoseOutWhoHaveAnotherOrNone) {
  for (const auto& [ours, theirs] : {std::pair(kSecret, "another"), {kSecret, ""}, {"", kSecret}}) {
    TestNode us("us", {}, {}, "group", ours);
    TestNode them("them", {}, {}, "group", theirs);
    const PeerId to = them.connect(us);
    ASSERT_EQ(them.driver().send(to, test_message(them.self(), 1, Body::text("x"))),
              SendStatus::sent);
    ASSERT_TRUE(run_until({&us, &them}, [&] { return !them.departed.empty(); }));
    EXPECT_EQ(them.departed[0].departure, Departure::lost);
    EXPECT_NE(them.departed[0].why.find("secret"), std::string::npos) << them.departed[0].why;
    EXPECT_FALSE(them.driver().established(to));
    EXPECT_TRUE(us.received.empty());
    EXPECT_FALSE(us.last_hello.has_value());
    EXPECT_EQ(us.driver().counters().strangers + them.driver().counters().strangers, 1u);
  }
}

// A process that takes part in a handshake by hand.
struct Impostor {
  std::string address = "muster-test-" + std::to_string(secure_random_u64());
  FileDescriptor listener = listen_unix(address).value();

  static LinkPacket next(const FileDescriptor& socket, const std::vector<TestNode*>& nodes) {
    Packet raw;
    PacketStatus status = PacketStatus::would_block;
    EXPECT_TRUE(run_until(nodes, [&] {
      status = receive_packet(socket, kMaxPacketBytes, raw);
      return status != PacketStatus::would_block;
    }));
    EXPECT_EQ(status, PacketStatus::done);
    return read_packet(std::move(raw)).value();
  }
};

TEST(ShmSecret, IsProvedByWhoListensBeforeAnyMemoryIsHandedOver) {
  TestNode a("a", {}, {}, "group", kSecret);
  Impostor impostor;
  Entry entry = local_entry("b", "test");
  entry.addresses["shm"] = impostor.address;
  ASSERT_TRUE(a.driver().connect(a.id_of(entry), entry).has_value());
  const FileDescriptor socket = accept_unix(impostor.listener).value().value();
  EXPECT_TRUE(std::holds_alternative<Knock>(Impostor::next(socket, {&a})));
  ASSERT_EQ(send_answer(socket, fresh_nonce(), std::string(SecretProof::kBytes, 'x')),
            PacketStatus::done);
  ASSERT_TRUE(run_until({&a}, [&] { return !a.departed.empty(); }));
  EXPECT_EQ(a.departed[0].departure, Departure::lost);
  EXPECT_EQ(a.driver().counters().strangers, 1u);
}

TEST(ShmSecret, IsNotProvedByWhatSomebodyElseProved) {
  TestNode b("b", {}, {}, "group", kSecret);
  const FileDescriptor socket = connect_unix(b.self().addresses.at("shm")).value();
  // The listener's own proof, sent back to it.
  ASSERT_EQ(send_knock(socket, fresh_nonce()), PacketStatus::done);
  const auto answer = std::get<Answer>(Impostor::next(socket, {&b}));
  const Entry self = local_entry("thief", "test");
  const FileDescriptor link = create_memory_file("muster-test", 4096).value();
  ASSERT_EQ(send_hello(socket, hello_text(self, "group", b.self().instance, "bell"), answer.proof,
                       link.get(), link.get()),
            PacketStatus::done);
  EXPECT_TRUE(std::holds_alternative<Refusal>(Impostor::next(socket, {&b})));
  EXPECT_EQ(b.driver().counters().strangers, 1u);
  EXPECT_FALSE(b.last_hello.has_value());
}

TEST(SecretProof, HoldsForOneHandshakeRoleAndClaimOnly) {
  const SecretProof ours(kSecret);
  const SecretProof::Handshake handshake{fresh_nonce(), fresh_nonce()};
  const std::string proof = ours.prove(Role::caller, handshake, {"ab", "c"});
  EXPECT_TRUE(SecretProof(kSecret).holds(proof, Role::caller, handshake, {"ab", "c"}));
  EXPECT_FALSE(SecretProof("other").holds(proof, Role::caller, handshake, {"ab", "c"}));
  EXPECT_FALSE(ours.holds(proof, Role::listener, handshake, {"ab", "c"}));
  EXPECT_FALSE(ours.holds(proof, Role::caller, handshake, {"a", "bc"}));
  EXPECT_FALSE(
      ours.holds(proof, Role::caller, {handshake.listener, handshake.caller}, {"ab", "c"}));
  EXPECT_FALSE(ours.holds(proof.substr(1), Role::caller, handshake, {"ab", "c"}));
}

}  // namespace
}  // namespace muster::comm::shm
