#include "muster/comm/driver/ucx/doors.h"

#include <gtest/gtest.h>

#include "muster/comm/driver/ucx/parcel.h"

namespace muster::comm {
namespace {

using namespace std::chrono_literals;
using Verdict = UcxDoors::Verdict;

constexpr InstanceId kSelf(2);
constexpr InstanceId kPeer(1);

/// A receiver, and what a sender does.
class UcxDoorsTest : public testing::Test {
 protected:
  UcxCredentials credentials =
      *UcxCredentials::from(Security{.secret = "a secret", .insecure = false}, "group");
  UcxDoors doors{credentials, kSelf, 10s};
  TimePoint now{1h};

  struct Way {
    UcxPassage passage;
    UcxToken token{};
    std::uint64_t frames = 0;
  };

  UcxChallenge challenge(std::uint64_t way = 7, InstanceId from = kPeer) {
    UcxChallenge result;
    result.passage = {.source = from.value(),
                      .destination = kSelf.value(),
                      .way = way,
                      .nonce = UcxCredentials::fresh_nonce()};
    result.mac = credentials.challenge_mac(result.passage);
    return result;
  }

  Way enter(std::uint64_t way = 7, InstanceId from = kPeer) {
    const UcxChallenge asked = challenge(way, from);
    const auto answer = doors.knock(asked, now);
    EXPECT_TRUE(answer.has_value());
    EXPECT_EQ(answer->mac, credentials.answer_mac(asked.passage, answer->nonce));
    return {asked.passage, credentials.token(asked.passage, answer->nonce)};
  }

  static Frame frame(std::vector<Buffer> parts = {}, InstanceId from = kPeer) {
    const FrameHeader header{.kind = FrameKind::data,
                             .source = from,
                             .destination = kSelf,
                             .source_epoch = 1,
                             .destination_epoch = 1,
                             .seq = 1,
                             .records = 1};
    const std::vector<std::byte> payload(100, std::byte{5});
    Frame result = make_frame(header, payload);
    result.parts = std::move(parts);
    return result;
  }

  struct Chunk {
    UcxChunk header;
    std::vector<std::byte> bytes;
  };
  static std::vector<Chunk> chunks(Way& way, Frame whole, std::size_t most) {
    UcxParcel parcel(std::move(whole), ++way.frames);
    std::vector<Chunk> result;
    while (!parcel.finished()) {
      UcxParcel::Cut cut = parcel.next(most);
      cut.header.way = way.passage.way;
      cut.header.token = way.token;
      Chunk chunk{cut.header, {}};
      for (std::size_t i = 0; i < cut.count; ++i) {
        const auto* const begin = static_cast<const std::byte*>(cut.pieces[i].data);
        chunk.bytes.insert(chunk.bytes.end(), begin, begin + cut.pieces[i].bytes);
      }
      EXPECT_EQ(chunk.bytes.size(), cut.bytes);
      result.push_back(std::move(chunk));
    }
    return result;
  }

  Verdict take(const Chunk& chunk) { return doors.take(chunk.header, chunk.bytes, now, got); }
  Frame got;
};

TEST_F(UcxDoorsTest, PutFramesOfAllSizesTogether) {
  Way way = enter();
  const auto part = [](std::size_t bytes, int value) {
    return Buffer::take(std::vector<std::byte>(bytes, std::byte(value)));
  };
  std::vector<Frame> frames;
  frames.push_back(frame());
  frames.push_back(frame({part(5000, 1)}));
  frames.push_back(frame({part(5000, 1), Buffer(), part(1, 2), part(70'000, 3)}));
  frames.push_back(frame(std::vector<Buffer>(1000, part(10, 4))));
  for (const Frame& sent : frames) {
    for (const std::size_t most : {100u, 1000u, 7919u, 100'000u}) {
      const auto pieces = chunks(way, sent, most);
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i) ASSERT_EQ(take(pieces[i]), Verdict::more);
      ASSERT_EQ(take(pieces.back()), Verdict::whole);
      EXPECT_EQ(got.head, sent.head);
      EXPECT_EQ(got.parts, sent.parts);
    }
  }
}

TEST_F(UcxDoorsTest, StayShutForWhoeverDoesNotKnowTheSecret) {
  const auto others =
      *UcxCredentials::from(Security{.secret = "another", .insecure = false}, "group");
  const auto elsewhere =
      *UcxCredentials::from(Security{.secret = "a secret", .insecure = false}, "another group");
  for (const UcxCredentials* const wrong : {&others, &elsewhere}) {
    UcxChallenge asked = challenge();
    asked.mac = wrong->challenge_mac(asked.passage);
    EXPECT_FALSE(doors.knock(asked, now).has_value());
  }
  UcxChallenge for_another = challenge();
  for_another.passage.destination = 99;
  for_another.mac = credentials.challenge_mac(for_another.passage);
  EXPECT_FALSE(doors.knock(for_another, now).has_value());
  EXPECT_EQ(doors.size(), 0u);
}

TEST_F(UcxDoorsTest, TakeNothingWithoutTheToken) {
  Way way = enter();
  Chunk chunk = chunks(way, frame(), 1000).front();
  chunk.header.token[0] ^= std::byte{1};
  EXPECT_EQ(take(chunk), Verdict::stranger);
  chunk.header.token[0] ^= std::byte{1};
  chunk.header.way = 8;
  EXPECT_EQ(take(chunk), Verdict::stranger);
}

TEST_F(UcxDoorsTest, DoNotTakeWhatWasRecordedInAnEarlierLife) {
  const UcxChallenge recorded = challenge();
  Way way{recorded.passage, credentials.token(recorded.passage, doors.knock(recorded, now)->nonce)};
  const Chunk chunk = chunks(way, frame(), 1000).front();
  UcxDoors next_life(credentials, kSelf, 10s);
  const auto answer = next_life.knock(recorded, now);
  ASSERT_TRUE(answer.has_value()) << "asking again is all that a recording is good for";
  EXPECT_NE(credentials.token(recorded.passage, answer->nonce), way.token);
  EXPECT_EQ(next_life.take(chunk.header, chunk.bytes, now, got), Verdict::stranger);
}

TEST_F(UcxDoorsTest, TakeFramesOnlyOfTheInstanceThatProvedItself) {
  Way way = enter();
  EXPECT_EQ(take(chunks(way, frame({}, InstanceId(66)), 1000).front()), Verdict::stranger);
}

TEST_F(UcxDoorsTest, ForgetAnEarlierWayOnceTheNextIsUsed) {
  Way first = enter(7);
  EXPECT_EQ(take(chunks(first, frame(), 1000).front()), Verdict::whole);
  Way second = enter(8);
  EXPECT_EQ(take(chunks(first, frame(), 1000).front()), Verdict::whole) << "not used yet";
  EXPECT_EQ(take(chunks(second, frame(), 1000).front()), Verdict::whole);
  EXPECT_EQ(take(chunks(first, frame(), 1000).front()), Verdict::stranger);
}

TEST_F(UcxDoorsTest, TellWhenAMemberWasHeardLastAlsoInTheMiddleOfAFrame) {
  Way way = enter();
  EXPECT_FALSE(doors.heard(kPeer).has_value()) << "a challenge may be a recording";
  const auto pieces = chunks(way, frame({Buffer::take(std::vector<std::byte>(5000))}), 1000);
  for (const Chunk& piece : {pieces[0], pieces[1]}) {
    now += 1s;
    ASSERT_EQ(take(piece), Verdict::more);
    EXPECT_EQ(doors.heard(kPeer), now);
  }
  Chunk forged = pieces[2];
  forged.header.token[0] ^= std::byte{1};
  now += 1s;
  ASSERT_EQ(take(forged), Verdict::stranger);
  EXPECT_EQ(doors.heard(kPeer), now - 1s);
  EXPECT_FALSE(doors.heard(InstanceId(99)).has_value());
}

TEST_F(UcxDoorsTest, TellWhenAMemberWasHeardOnItsNewestWay) {
  Way first = enter(7);
  ASSERT_EQ(take(chunks(first, frame(), 1000).front()), Verdict::whole);
  now += 1s;
  Way second = enter(8);
  EXPECT_EQ(doors.heard(kPeer), now - 1s);
  ASSERT_EQ(take(chunks(second, frame(), 1000).front()), Verdict::whole);
  EXPECT_EQ(doors.heard(kPeer), now);
  now += 11s;
  enter(9, InstanceId(3));
  EXPECT_FALSE(doors.heard(kPeer).has_value()) << "it went with its door";
}

TEST_F(UcxDoorsTest, AnswerARepeatedChallengeTheSame) {
  const UcxChallenge asked = challenge();
  EXPECT_EQ(doors.knock(asked, now)->nonce, doors.knock(asked, now)->nonce);
  UcxChallenge other = challenge(asked.passage.way);
  EXPECT_FALSE(doors.knock(other, now).has_value()) << "the way is taken";
}

TEST_F(UcxDoorsTest, AreBoundedAndGoWithTheirUsers) {
  for (std::uint64_t i = 1; i < 3 * UcxDoors::kMaxUnused; ++i)
    static_cast<void>(doors.knock(challenge(i), now));
  EXPECT_LE(doors.size(), UcxDoors::kMaxUnused);
  now += 11s;
  enter(1 << 20);
  EXPECT_EQ(doors.size(), 1u);
}

TEST_F(UcxDoorsTest, DropAFrameWhoseBeginningOrMiddleIsMissing) {
  Way way = enter();
  const auto pieces = chunks(way, frame({Buffer::take(std::vector<std::byte>(5000))}), 1000);
  EXPECT_EQ(take(pieces[1]), Verdict::lost);
  EXPECT_EQ(take(pieces[0]), Verdict::more);
  EXPECT_EQ(take(pieces[2]), Verdict::lost);
  EXPECT_EQ(take(pieces[1]), Verdict::lost);
  EXPECT_EQ(take(chunks(way, frame(), 1000).front()), Verdict::whole) << "the next one is fine";
}

TEST_F(UcxDoorsTest, DropWhatContradictsItself) {
  Way way = enter();
  const auto good =
      chunks(way, frame({Buffer::take(std::vector<std::byte>(500))}), 1 << 20).front();
  const auto spoil = [&](auto change) {
    Chunk bad = good;
    change(bad);
    return take(bad);
  };
  EXPECT_EQ(spoil([](Chunk& c) { c.header.parts = 1 << 30; }), Verdict::malformed);
  EXPECT_EQ(spoil([](Chunk& c) { c.header.total_bytes = ~std::uint64_t{0}; }), Verdict::malformed);
  EXPECT_EQ(spoil([](Chunk& c) { c.header.head_bytes = ~std::uint64_t{0}; }), Verdict::malformed);
  EXPECT_EQ(spoil([](Chunk& c) { c.header.head_bytes = 0; }), Verdict::malformed);
  EXPECT_EQ(spoil([](Chunk& c) { c.header.total_bytes -= 1; }), Verdict::malformed);
  EXPECT_EQ(spoil([](Chunk& c) { c.header.head_bytes += 8; }), Verdict::malformed);
  EXPECT_EQ(spoil([](Chunk& c) { c.bytes[0] ^= std::byte{1}; }), Verdict::malformed);
  EXPECT_EQ(spoil([](Chunk& c) { c.bytes.push_back({}); }), Verdict::malformed);
  EXPECT_EQ(take(good), Verdict::whole);
}

}  // namespace
}  // namespace muster::comm
