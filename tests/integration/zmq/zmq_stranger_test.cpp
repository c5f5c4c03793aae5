// Who may not talk: garbage, strangers, and those with another secret.

#include <array>
#include <netinet/in.h>
#include <stdlib.h>
#include <string>
#include <sys/socket.h>
#include <zmq.h>

#include <gtest/gtest.h>

#include "muster/comm/driver/zmq/curve.h"
#include "muster/comm/errc.h"
#include "muster/comm/link/frame.h"
#include "muster/comm/link/hello.h"
#include "tests/support/relay.h"
#include "tests/support/station.h"
#include "tests/support/temp_dir.h"

namespace muster::comm {
namespace {

// Whoever comes may talk, so that what they say is what is tested.
const Station::Setup kOpen{.driver = "zmq", .insecure = true};
const Station::Setup kSecret{.driver = "zmq", .secret = "open sesame"};

/// A raw PUSH socket that knows nothing of Muster.
class RawPush {
 public:
  explicit RawPush(const Station& to) : RawPush(to, nullptr) {}
  RawPush(const Station& to, const CurveKeys* server)
      : push_(*ZmqSocket::open(context_, ZMQ_PUSH)) {
    push_.set(ZMQ_LINGER, 0);
    if (server != nullptr) {
      std::array<char, 41> public_key{};
      std::array<char, 41> secret_key{};
      zmq_curve_keypair(public_key.data(), secret_key.data());
      push_.set(ZMQ_CURVE_SERVERKEY, server->public_key);
      zmq_setsockopt(push_.get(), ZMQ_CURVE_PUBLICKEY, public_key.data(), public_key.size());
      zmq_setsockopt(push_.get(), ZMQ_CURVE_SECRETKEY, secret_key.data(), secret_key.size());
    }
    EXPECT_TRUE(push_.connect(to.self.addresses.at("zmq")).has_value());
  }

  void send(ByteSpan bytes, int flags = 0) {
    EXPECT_EQ(zmq_send(push_.get(), bytes.data(), bytes.size(), flags),
              static_cast<int>(bytes.size()));
  }

 private:
  ZmqContext context_;
  ZmqSocket push_;
};

FileDescriptor raw_connection(const Station& to) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(test::port_of(to.self.addresses.at("zmq")));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  return socket;
}

void expect_still_serving(Station& b, const Station::Setup& setup) {
  Station friendly("friend", setup);
  const std::size_t before = b.received.size();
  ASSERT_EQ(friendly.send(friendly.connect(b), friendly.message("x", Body::text("hi"))),
            SendStatus::sent);
  ASSERT_TRUE(step_until({&friendly, &b}, [&] { return b.received.size() == before + 1; }));
  EXPECT_EQ(b.received.back().second.body.text(), "hi");
}

TEST(ZmqStranger, IsCountedWhenItSendsGarbage) {
  Station b("b", kOpen);
  RawPush stranger(b);
  stranger.send(as_bytes("what is this"));
  stranger.send({});
  stranger.send(as_bytes(std::string(100'000, 'x')));
  stranger.send(as_bytes("many"), ZMQ_SNDMORE);
  stranger.send(as_bytes("parts"));
  ASSERT_TRUE(step_until({&b}, [&] { return b.driver().counters().malformed == 4; }));
  expect_still_serving(b, kOpen);
}

// Another user of this host cannot read our key; here that user is a folder of its own.
TEST(ZmqStranger, IsRefusedWhenItIsAnotherUserOfThisHost) {
  const Station::Setup setup{.driver = "zmq"};
  const test::TempDir ours;
  const test::TempDir theirs;
  ::setenv("MUSTER_RUNTIME_DIR", ours.path().c_str(), 1);
  Station b("b", setup);
  ::setenv("MUSTER_RUNTIME_DIR", theirs.path().c_str(), 1);
  Station stranger("stranger", setup);
  ::setenv("MUSTER_RUNTIME_DIR", ours.path().c_str(), 1);
  static_cast<void>(stranger.send(stranger.connect(b), stranger.message("x", Body::text("hi"))));
  ASSERT_TRUE(step_until({&stranger, &b}, [&] { return b.driver().counters().strangers > 0; }));
  EXPECT_TRUE(b.hellos.empty() && b.received.empty());
  expect_still_serving(b, setup);
  ::unsetenv("MUSTER_RUNTIME_DIR");
}

TEST(ZmqStranger, IsCountedWhenItSendsFramesWithoutKnowingWhoIsHere) {
  Station b("b", kOpen);
  RawPush stranger(b);
  FrameHeader hello{.kind = FrameKind::hello,
                    .source = InstanceId(1),
                    .destination = InstanceId(2),
                    .source_epoch = 1};
  const Frame frame = make_frame(hello, as_bytes(encode_hello("conformance", b.self)));
  stranger.send(frame.head.bytes());
  ASSERT_TRUE(step_until({&b}, [&] { return b.driver().counters().strangers == 1; }));
  EXPECT_TRUE(b.hellos.empty());
}

TEST(ZmqStranger, DoesNoHarmThroughARawConnection) {
  Station b("b", kOpen);
  const std::string garbage = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  std::string absurd("\xff\0\0\0\0\0\0\0\x01\x7f", 10);
  absurd += std::string(200, '\xff');
  for (const std::string& bytes :
       {garbage, absurd, std::string(1, '\0'), std::string(100'000, '\x01')}) {
    const FileDescriptor connection = raw_connection(b);
    ::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    for (int i = 0; i < 10; ++i) b.step();
  }
  expect_still_serving(b, kOpen);
}

TEST(ZmqStranger, GetsNothingThroughWithAnotherSecret) {
  Station b("b", kSecret);
  Station stranger("stranger", {.driver = "zmq", .secret = "open barley"});
  static_cast<void>(
      stranger.send(stranger.connect(b), stranger.message("x", Body::text("let me in"))));
  ASSERT_TRUE(step_until({&b, &stranger}, [&] { return b.driver().counters().strangers > 0; }));
  EXPECT_TRUE(b.hellos.empty());
  EXPECT_TRUE(b.received.empty());
  expect_still_serving(b, kSecret);
}

TEST(ZmqStranger, GetsNothingThroughWithoutASecret) {
  Station b("b", kSecret);
  Station stranger("stranger", kOpen);
  static_cast<void>(
      stranger.send(stranger.connect(b), stranger.message("x", Body::text("let me in"))));
  ASSERT_TRUE(step_until({&b, &stranger}, [&] { return b.driver().counters().strangers > 0; }));
  EXPECT_TRUE(b.hellos.empty());
  expect_still_serving(b, kSecret);
}

TEST(ZmqStranger, GetsNothingThroughWithAKeyOfItsOwn) {
  Station b("b", kSecret);
  const CurveKeys keys = derive_curve_keys(kSecret.secret);
  RawPush stranger(b, &keys);
  stranger.send(as_bytes("let me in"));
  ASSERT_TRUE(step_until({&b}, [&] { return b.driver().counters().strangers > 0; }));
  EXPECT_EQ(b.driver().counters().malformed, 0u);
  expect_still_serving(b, kSecret);
}

TEST(ZmqStranger, IsKeptOutByRefusingToListenWithoutASecret) {
  const Entry self = local_entry("x", "t");
  const std::string group = "g";
  const auto bell = *Doorbell::create();
  const SteadyClock clock;
  const DriverContext context{self, group, *bell, clock, {}, {}, std::chrono::seconds(3)};
  for (const char* host : {"0.0.0.0", "*", "::"}) {
    const auto drivers = make_drivers("zmq", false, context, {{"zmq.host", host}});
    ASSERT_FALSE(drivers.has_value()) << host;
    EXPECT_TRUE(drivers.error().is(Errc::refused));
    EXPECT_NE(drivers.error().message().find("MUSTER_SECRET"), std::string::npos);
    EXPECT_NE(drivers.error().message().find("insecure"), std::string::npos);
  }
  DriverContext insecure = context;
  insecure.security.insecure = true;
  EXPECT_TRUE(make_drivers("zmq", false, insecure, {{"zmq.host", "0.0.0.0"}}).has_value());
}

TEST(ZmqStranger, IsNotInvitedByMistakesInTheOptions) {
  const Entry self = local_entry("x", "t");
  const std::string group = "g";
  const auto bell = *Doorbell::create();
  const SteadyClock clock;
  const DriverContext context{self, group, *bell, clock, {}, {}, std::chrono::seconds(3)};
  const std::map<std::string, std::string> mistakes{{"zmq.host", "no-such-interface"},
                                                    {"zmq.port", "70000"},
                                                    {"zmq.protocol", "udp"},
                                                    {"zmq.hots", "127.0.0.1"}};
  for (const auto& [key, value] : mistakes)
    EXPECT_FALSE(make_drivers("zmq", false, context, {{key, value}}).has_value()) << key;
}

}  // namespace
}  // namespace muster::comm
