// Who may not talk: garbage, strangers, and recordings.

#include <array>
#include <stdlib.h>

#include <gtest/gtest.h>

#include "muster/comm/driver/ucx/address.h"
#include "muster/comm/driver/ucx/load.h"
#include "tests/integration/ucx/ucx_end.h"
#include "tests/support/temp_dir.h"

namespace muster::comm {
namespace {

constexpr PeerId kOther(1);
const Security kSecret{.secret = "open sesame", .insecure = false};

/// UCX alone, which knows nothing of Muster but where to knock.
class Stranger final : private UcxPortListener {
 public:
  explicit Stranger(const Entry& door) {
    const std::array settings{UcxSetting{"NET_DEVICES", "lo"}, UcxSetting{"TLS", "tcp"}};
    std::array<char, 200> why{};
    port_ = (*load_ucx())(kUcxPortVersion, settings.data(), settings.size(), this, why.data(),
                          why.size());
    if (port_ == nullptr) throw std::runtime_error(why.data());
    const std::string bytes = parse_ucx_address(door.addresses.at("ucx"))->whole;
    EXPECT_TRUE(port_->connect(1, {bytes.data() + sizeof(UcxMac), bytes.size() - sizeof(UcxMac)},
                               why.data(), why.size()))
        << why.data();
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() { port_->close(); }

  template <class Header>
  void ask(const Header& header) {
    EXPECT_TRUE(port_->ask(1, {&header, sizeof header}));
  }
  void say(UcxPiece header, UcxPiece data) {
    static_cast<void>(port_->send(1, header, &data, 1, nullptr));
  }
  void step() { port_->progress(); }

  std::vector<std::vector<std::byte>> answers;

 private:
  void on_arrival(UcxPiece header, UcxPiece /*data*/, void* /*reply*/) override {
    const auto* const begin = static_cast<const std::byte*>(header.data);
    answers.emplace_back(begin, begin + header.bytes);
  }
  void on_sent(void* /*parcel*/) override {}
  void on_broken(std::uint32_t /*way*/, const char* /*why*/) override {}

  UcxPort* port_ = nullptr;
};

const UcxOptions kTcp{.transports = "tcp", .devices = "lo"};

bool refused(UcxEnd& b, Stranger& stranger, std::uint64_t times) {
  return until([&] {
    stranger.step();
    b.step(kOther);
    return b.transport->strangers() >= times;
  });
}

void expect_still_serving(UcxEnd& b) {
  UcxEnd friendly("friend", kSecret, kTcp);
  ASSERT_TRUE(friendly.transport->connect(kOther, b.self).has_value());
  ASSERT_TRUE(until([&] {
    b.step(kOther);
    return friendly.step(kOther);
  }));
  const std::size_t before = b.frames.size();
  ASSERT_TRUE(friendly.transport->send(kOther, friendly.frame_to(b.self, 50'000)));
  EXPECT_TRUE(until([&] {
    friendly.step(kOther);
    b.step(kOther);
    return b.frames.size() == before + 1;
  }));
}

TEST(UcxStranger, IsCountedWhenItSendsGarbage) {
  UcxEnd b("b", kSecret, kTcp);
  Stranger stranger(b.self);
  const std::array<std::byte, 100> garbage{std::byte{'M'}, std::byte{'X'}, std::byte{'F'},
                                           std::byte{'1'}};
  for (const std::size_t header : {0u, 1u, 4u, 64u, 80u, 96u, 100u})
    stranger.say({garbage.data(), header}, {garbage.data(), 100});
  ASSERT_TRUE(refused(b, stranger, 7));
  EXPECT_TRUE(b.frames.empty());
  EXPECT_TRUE(stranger.answers.empty());
  expect_still_serving(b);
}

TEST(UcxStranger, GetsNoAnswerWithoutTheSecret) {
  UcxEnd b("b", kSecret, kTcp);
  Stranger stranger(b.self);
  UcxChallenge challenge;
  challenge.passage = {.source = 5,
                       .destination = b.self.instance.value(),
                       .way = 6,
                       .nonce = UcxCredentials::fresh_nonce()};
  const auto other = *UcxCredentials::from({.secret = "open barley", .insecure = false}, "ucx");
  challenge.mac = other.challenge_mac(challenge.passage);
  stranger.ask(challenge);
  ASSERT_TRUE(refused(b, stranger, 1));
  EXPECT_TRUE(stranger.answers.empty());
  expect_still_serving(b);
}

TEST(UcxStranger, GetsNothingThroughWithARecordedChallenge) {
  UcxEnd b("b", kSecret, kTcp);
  Stranger stranger(b.self);
  // As a member sent it once; the stranger cannot make it, only repeat it.
  const auto members = *UcxCredentials::from(kSecret, "ucx");
  UcxChallenge recorded;
  recorded.passage = {.source = 5,
                      .destination = b.self.instance.value(),
                      .way = 6,
                      .nonce = UcxCredentials::fresh_nonce()};
  recorded.mac = members.challenge_mac(recorded.passage);
  stranger.ask(recorded);
  ASSERT_TRUE(until([&] {
    stranger.step();
    b.step(kOther);
    return !stranger.answers.empty();
  }));
  // The token of the recorded handshake was for another nonce of b.
  UcxChunk chunk{.way = 6,
                 .token = members.token(recorded.passage, UcxCredentials::fresh_nonce()),
                 .frame = 1,
                 .head_bytes = 64,
                 .total_bytes = 64};
  const std::array<std::byte, 64> bytes{};
  stranger.say({&chunk, sizeof chunk}, {bytes.data(), bytes.size()});
  ASSERT_TRUE(refused(b, stranger, 1));
  EXPECT_TRUE(b.frames.empty());
  expect_still_serving(b);
}

TEST(UcxStranger, IsNotRungUpWhenItsAddressIsNotAMembers) {
  UcxEnd a("a", kSecret, kTcp);
  UcxEnd stranger("stranger", {.secret = "open barley", .insecure = false}, kTcp);
  ASSERT_TRUE(a.transport->connect(kOther, stranger.self).has_value());
  EXPECT_EQ(a.transport->strangers(), 1u);
  EXPECT_FALSE(a.transport->send(kOther, a.frame_to(stranger.self)));
  Entry garbage = stranger.self;
  for (const std::string address :
       {"", "ucx://", "tcp://127.0.0.1:1", "ucx://net/", "ucx://net/#", "ucx://local/AAAA"}) {
    garbage.addresses["ucx"] = address;
    EXPECT_FALSE(a.transport->connect(PeerId(2), garbage).has_value()) << address;
  }
  expect_still_serving(a);
}

TEST(UcxStranger, AtAMembersAddressIsFoundOut) {
  // It has taken over the place of a member, address and all, but does not know the secret.
  UcxEnd impostor("b", {.secret = "open barley", .insecure = false}, kTcp);
  auto address = *parse_ucx_address(impostor.self.addresses.at("ucx"));
  const auto members = *UcxCredentials::from(kSecret, "ucx");
  address.whole = members.seal(as_bytes(address.whole).subspan(sizeof(UcxMac)));
  Entry member = impostor.self;
  member.addresses["ucx"] = format_ucx_address(address);
  UcxEnd a("a", kSecret, kTcp);
  ASSERT_TRUE(a.transport->connect(kOther, member).has_value());
  ASSERT_TRUE(until([&] {
    a.step(kOther);
    impostor.step(kOther);
    return impostor.transport->strangers() > 0;
  }));
  EXPECT_FALSE(a.step(kOther));
  EXPECT_FALSE(a.transport->send(kOther, a.frame_to(member))) << "it would get to see the frame";
}

TEST(UcxStranger, IsRefusedWhenItIsAnotherUserOfThisHost) {
  // Another user cannot read our key; here that user is a folder of its own.
  const test::TempDir ours;
  const test::TempDir theirs;
  ::setenv("MUSTER_RUNTIME_DIR", ours.path().c_str(), 1);
  UcxEnd b("b");
  ::setenv("MUSTER_RUNTIME_DIR", theirs.path().c_str(), 1);
  UcxEnd stranger("stranger");
  ::unsetenv("MUSTER_RUNTIME_DIR");
  ASSERT_TRUE(stranger.transport->connect(kOther, b.self).has_value());
  EXPECT_FALSE(stranger.step(kOther));
  EXPECT_EQ(stranger.transport->strangers(), 1u);
}

}  // namespace
}  // namespace muster::comm
