#include "muster/comm/link/link.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <rapidcheck.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "muster/base/random.h"

namespace muster::comm {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kBegin = TimePoint{} + seconds(1000);

Message numbered(std::uint64_t generation, std::uint64_t number, std::size_t bytes = 0) {
  Message message;
  message.tag = "t";
  message.session_id = {InstanceId(1), generation};
  message.message_id = {InstanceId(1), number};
  message.body = Body::bytes(Buffer::take(std::vector<std::byte>(bytes)));
  return message;
}

/// What the random network does, how the ends behave, and what is planted.
struct Weather {
  double loss = 0.1;
  double repeat = 0.1;
  Duration slowest = milliseconds(5);
  bool restart = false;  ///< the sender forgets its link in the middle
  bool dawdle = false;   ///< the receiver often does not deliver
  std::size_t messages = 300;
  std::size_t largest = 3000;
  LinkFaults faults{};
};

/// Two ends and a network in virtual time. `a` sends numbered messages to `b`; every broken promise
/// is a sentence.
class World {
 public:
  World(std::uint64_t seed, Weather weather) : random_(seed), weather_(weather) {
    make_a();
    make_b();
  }

  std::optional<std::string> run() {
    // Where a third of all frames is lost and attempts are two seconds apart, two minutes pass.
    const TimePoint limit = now_ + seconds(1200);
    while (now_ < limit && !broken_ && !done()) step();
    if (!broken_ && !done()) broken_ = "not everything arrived";
    return broken_;
  }

 private:
  static constexpr std::size_t kWindowA = 64 * 1024;
  static constexpr std::size_t kWindowB = 16 * 1024;

  struct Flying {
    TimePoint at;
    bool to_b;
    Frame frame;
  };

  [[nodiscard]] LinkOptions options(std::size_t window) const {
    LinkOptions options;
    options.window_bytes = window;
    options.lease = seconds(60);
    options.faults = weather_.faults;
    return options;
  }

  void make_a() {
    ++generation_;
    a_ = std::make_unique<Link>(LinkEnds{InstanceId(1), InstanceId(2), ++epoch_a_, "a"},
                                options(kWindowA), now_);
    offered_ = 0;
  }

  void make_b() {
    b_ = std::make_unique<Link>(LinkEnds{InstanceId(2), InstanceId(1), ++epoch_b_, "b"},
                                options(kWindowB), now_);
    held_bytes_ = 0;
    held_frames_ = 0;
    delivered_ = 0;
  }

  [[nodiscard]] bool done() const {
    return offered_ == weather_.messages && delivered_ == weather_.messages && a_->drained() &&
           (!weather_.restart || generation_ == 2);
  }

  void fly(Link& from, bool to_b) {
    while (const Frame* frame = from.next_frame()) {
      const std::uint64_t copies = random_.chance(weather_.loss)     ? 0
                                   : random_.chance(weather_.repeat) ? 2
                                                                     : 1;
      for (std::uint64_t i = 0; i < copies; ++i) {
        const Duration delay(static_cast<Duration::rep>(
            random_.below(static_cast<std::uint64_t>(weather_.slowest.count()))));
        flying_.push_back({now_ + delay, to_b, *frame});
      }
      from.handed_over(now_);
    }
  }

  void step() {
    now_ = next_time();
    offer_some();
    land();
    a_->tick(now_);
    b_->tick(now_);
    if (!weather_.dawdle || random_.chance(0.05)) deliver();
    check_windows();
    fly(*a_, true);
    fly(*b_, false);
  }

  [[nodiscard]] TimePoint next_time() {
    Deadline next = earlier(a_->next_wakeup(), b_->next_wakeup());
    for (const Flying& one : flying_) next = earlier(next, one.at);
    if (offered_ < weather_.messages || b_->holding())
      next = earlier(next, now_ + microseconds(random_.below(500)));
    return std::max(now_ + Duration(1), next.value_or(now_ + seconds(1)));
  }

  void offer_some() {
    if (weather_.restart && generation_ == 1 && delivered_ > weather_.messages / 3) make_a();
    for (std::uint64_t i = random_.below(5); i > 0 && offered_ < weather_.messages; --i) {
      if (!a_->offer(numbered(generation_, offered_ + 1, random_.below(weather_.largest)), now_))
        break;
      ++offered_;
    }
  }

  void land() {
    std::vector<Flying> landed;
    std::erase_if(flying_, [&](Flying& one) {
      if (one.at > now_) return false;
      landed.push_back(std::move(one));
      return true;
    });
    for (Flying& one : landed) receive(one.to_b, std::move(one.frame));
  }

  void receive(bool at_b, Frame frame) {
    const auto header = decode_header(frame);
    if (!header) {
      broken_ = "a frame is malformed: " + header.error().message();
      return;
    }
    Link& link = at_b ? *b_ : *a_;
    const std::size_t bytes = frame.bytes() - kFrameHeaderBytes;
    const bool was_data = header->kind == FrameKind::data;
    const auto verdict = link.receive(*header, std::move(frame), now_);
    if (at_b && was_data && verdict == Link::Verdict::taken) {
      held_bytes_ += bytes;
      ++held_frames_;
    }
    if (verdict != Link::Verdict::restarted) return;
    if (at_b) {
      make_b();
    } else {
      broken_ = "the sender was told that the receiver began anew";
    }
  }

  void deliver() {
    while (b_->holding() && !broken_) {
      const Incoming::Held held = b_->take(now_);
      --held_frames_;
      held_bytes_ -= held.frame.bytes() - kFrameHeaderBytes;
      const auto decoded = decode_frame(held.frame);
      if (!decoded) {
        broken_ = "a frame is malformed: " + decoded.error().message();
        return;
      }
      for (const Message& message : decoded->messages) check(message);
    }
  }

  void check(const Message& message) {
    if (message.session_id.number != generation_ && epoch_b_ == generation_)
      broken_ = "a message of an earlier link was delivered";
    if (message.message_id.number <= delivered_) broken_ = "a message was delivered twice or late";
    if (message.message_id.number > delivered_ + 1) broken_ = "a message was left out";
    delivered_ = message.message_id.number;
  }

  void check_windows() {
    if (a_->outstanding_bytes() > kWindowA) broken_ = "the sender keeps more than its window";
    if (held_bytes_ > kWindowB && held_frames_ > 1)
      broken_ = "the receiver keeps more than its window";
  }

  Random random_;
  Weather weather_;
  TimePoint now_ = kBegin;
  std::unique_ptr<Link> a_;
  std::unique_ptr<Link> b_;
  std::uint32_t epoch_a_ = 0;
  std::uint32_t epoch_b_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t offered_ = 0;
  std::uint64_t delivered_ = 0;
  std::size_t held_bytes_ = 0;
  std::size_t held_frames_ = 0;
  std::vector<Flying> flying_;
  std::optional<std::string> broken_;
};

TEST(Link, KeepsItsPromisesInAnyWeather) {
  EXPECT_TRUE(rc::check("in order, exactly once, everything, within the windows", [] {
    Weather weather;
    weather.loss = *rc::gen::inRange(0, 40) / 100.0;
    weather.repeat = *rc::gen::inRange(0, 40) / 100.0;
    weather.slowest = microseconds(*rc::gen::inRange(10, 50'000));
    weather.restart = *rc::gen::arbitrary<bool>();
    weather.dawdle = *rc::gen::arbitrary<bool>();
    weather.largest = *rc::gen::inRange<std::size_t>(1, 12'000);
    const auto broken = World(*rc::gen::arbitrary<std::uint64_t>(), weather).run();
    if (broken) RC_FAIL(*broken);
  }));
}

/// The complaint of the first of a few hundred runs that breaks a promise.
std::string first_complaint(const Weather& weather) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    if (const auto broken = World(seed, weather).run()) return *broken;
  }
  return "none";
}

TEST(Link, IsCaughtWhenItDeliversRepeatedFrames) {
  EXPECT_EQ(first_complaint({.faults = {.skip_deduplication = true}}),
            "a message was delivered twice or late");
}

TEST(Link, IsCaughtWhenItNeverRetransmits) {
  EXPECT_EQ(first_complaint({.faults = {.never_retransmit = true}}), "not everything arrived");
}

TEST(Link, IsCaughtWhenItAcknowledgesWhatItDropped) {
  // What exactly is missing depends on whether something came after it.
  EXPECT_NE(first_complaint({.faults = {.ack_before_delivery_order = true}}), "none");
}

TEST(Link, IsCaughtWhenItTakesFramesOfAnEarlierLink) {
  EXPECT_NE(first_complaint(
                {.slowest = milliseconds(500), .restart = true, .faults = {.ignore_epochs = true}}),
            "none");
}

TEST(Link, IsCaughtWhenItSendsMoreThanTheReceiverHasRoomFor) {
  EXPECT_EQ(first_complaint({.dawdle = true, .faults = {.ignore_credit = true}}),
            "the receiver keeps more than its window");
}

TEST(Link, LosesNothingInFairWeatherEither) {
  EXPECT_EQ(World(1, {.loss = 0, .repeat = 0, .slowest = microseconds(10)}).run(), std::nullopt);
}

/// Two ends whose frames are passed by hand.
class LinkPair : public ::testing::Test {
 protected:
  LinkPair() { exchange(); }

  static std::vector<FrameHeader> pass(Link& from, Link& to, TimePoint now) {
    std::vector<FrameHeader> passed;
    while (const Frame* frame = from.next_frame()) {
      Frame copy = *frame;
      from.handed_over(now);
      passed.push_back(*decode_header(copy));
      to.receive(passed.back(), std::move(copy), now);
    }
    return passed;
  }

  /// Frames that `from` sends and nobody gets.
  static std::vector<FrameHeader> lose(Link& from, TimePoint now) {
    std::vector<FrameHeader> lost;
    while (const Frame* frame = from.next_frame()) {
      lost.push_back(*decode_header(*frame));
      from.handed_over(now);
    }
    return lost;
  }

  void exchange() {
    while (!pass(a_, b_, now_).empty() || !pass(b_, a_, now_).empty()) {
    }
  }

  void advance(Duration duration) {
    now_ += duration;
    a_.tick(now_);
    b_.tick(now_);
  }

  static LinkOptions options() {
    LinkOptions options;
    options.window_bytes = 1 << 20;
    return options;
  }

  TimePoint now_ = kBegin;
  Link a_{LinkEnds{InstanceId(1), InstanceId(2), 1, "a"}, options(), now_};
  Link b_{LinkEnds{InstanceId(2), InstanceId(1), 1, "b"}, options(), now_};
};

TEST_F(LinkPair, IsEstablishedByHellos) {
  EXPECT_EQ(a_.state(), Link::State::established);
  EXPECT_EQ(b_.state(), Link::State::established);
}

TEST_F(LinkPair, SendsTheFirstMessageAfterAPauseAtOnce) {
  ASSERT_TRUE(a_.offer(numbered(1, 1), now_));
  EXPECT_NE(a_.next_frame(), nullptr);
}

TEST_F(LinkPair, GathersMessagesThatFollowEachOtherQuickly) {
  for (std::uint64_t i = 1; i <= 10; ++i)
    ASSERT_TRUE(a_.offer(numbered(1, i), now_ += microseconds(1)));
  EXPECT_EQ(lose(a_, now_).size(), 1u);
  EXPECT_TRUE(a_.gathering());
  advance(options().hold);
  const auto frames = lose(a_, now_);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].records, 9u);
}

TEST_F(LinkPair, HandsOverWhatIsGatheredWhenFlushed) {
  for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(a_.offer(numbered(1, i), now_));
  EXPECT_EQ(lose(a_, now_).size(), 1u);
  a_.flush();
  EXPECT_EQ(lose(a_, now_).size(), 1u);
}

TEST_F(LinkPair, SendsAgainFromTheFirstMissingFrameAfterAReconnect) {
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(a_.offer(numbered(1, i), now_));
    a_.flush();
  }
  EXPECT_EQ(lose(a_, now_).size(), 3u);
  a_.on_connected(now_);
  const auto frames = pass(a_, b_, now_);
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames[0].kind, FrameKind::hello);
  EXPECT_EQ(frames[1].seq, 1u);
  exchange();
  EXPECT_TRUE(a_.drained());
}

TEST_F(LinkPair, AsksForAMissingFrameWithoutWaitingForATimer) {
  ASSERT_TRUE(a_.offer(numbered(1, 1), now_));
  lose(a_, now_);
  ASSERT_TRUE(a_.offer(numbered(1, 2), now_));
  a_.flush();
  exchange();
  EXPECT_TRUE(b_.holding());
  EXPECT_EQ(b_.take(now_).header.seq, 1u);
  EXPECT_EQ(b_.take(now_).header.seq, 2u);
}

TEST_F(LinkPair, WaitsLongerBeforeEachFurtherAttempt) {
  ASSERT_TRUE(a_.offer(numbered(1, 1), now_));
  lose(a_, now_);
  advance(options().retransmit_after);
  EXPECT_EQ(lose(a_, now_).size(), 1u);
  advance(options().retransmit_after);
  EXPECT_EQ(lose(a_, now_).size(), 0u);
  advance(options().retransmit_after);
  EXPECT_EQ(lose(a_, now_).size(), 1u);
}

TEST_F(LinkPair, SaysFullAndTakesOneLargerMessageWhenItIsAlone) {
  const std::size_t window = options().window_bytes;
  EXPECT_TRUE(a_.offer(numbered(1, 1, 3 * window), now_));
  EXPECT_FALSE(a_.offer(numbered(1, 2, 1), now_));
  exchange();
  EXPECT_TRUE(a_.offer(numbered(1, 2, 1), now_));
}

TEST_F(LinkPair, StopsWhenTheReceiverDoesNotDeliver) {
  std::uint64_t sent = 0;
  while (sent < 100 && a_.offer(numbered(1, sent + 1, 100'000), now_)) {
    ++sent;
    exchange();
  }
  EXPECT_LT(sent, 30u);
  EXPECT_GE(sent, 10u);
  while (b_.holding()) static_cast<void>(b_.take(now_));
  exchange();
  while (b_.holding()) static_cast<void>(b_.take(now_));
  exchange();
  EXPECT_TRUE(a_.drained());
}

TEST_F(LinkPair, AsksAgainWhenTheWordAboutRoomIsLost) {
  for (std::uint64_t i = 1; a_.offer(numbered(1, i, 100'000), now_); ++i) exchange();
  while (b_.holding()) static_cast<void>(b_.take(now_));
  lose(b_, now_);
  EXPECT_FALSE(a_.drained());
  for (int i = 0; i < 10; ++i) {
    advance(options().retransmit_after);
    exchange();
    while (b_.holding()) static_cast<void>(b_.take(now_));
  }
  EXPECT_TRUE(a_.drained());
}

TEST_F(LinkPair, PingsASilentPeerAndReportsItAfterTheLease) {
  const Duration lease = options().lease;
  advance(lease / 3);
  const auto frames = lose(a_, now_);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].kind, FrameKind::ping);
  advance(lease / 3);
  advance(lease / 3);
  EXPECT_EQ(a_.state(), Link::State::established);
  advance(milliseconds(1));
  EXPECT_EQ(a_.state(), Link::State::unreachable);
}

TEST_F(LinkPair, IsPatientWhileTheTransportVouchesForTheConnection) {
  a_.on_connected(now_);
  lose(a_, now_);
  for (int i = 0; i < 20; ++i) advance(options().lease / 3);
  EXPECT_EQ(a_.state(), Link::State::established);
  a_.on_disconnected(now_);
  advance(Duration(1));
  EXPECT_EQ(a_.state(), Link::State::unreachable);
}

TEST_F(LinkPair, WaitsForTheRestOfAFrameUntilNoPartHasComeForTheLease) {
  for (int i = 0; i < 20; ++i) {
    advance(options().lease / 3);
    lose(a_, now_);
    a_.on_part(now_);
  }
  EXPECT_EQ(a_.state(), Link::State::established);
  for (int i = 0; i < 3; ++i) advance(options().lease / 3);
  EXPECT_EQ(a_.state(), Link::State::established);
  advance(Duration(1));
  EXPECT_EQ(a_.state(), Link::State::unreachable);
}

TEST_F(LinkPair, PingsWhileTheRestOfAFrameIsOnItsWay) {
  // The peer's pings wait behind the frame, so that it is not answered, and hears only ours.
  std::size_t pings = 0;
  for (int i = 0; i < 12; ++i) {
    advance(options().lease / 6);
    a_.on_part(now_);
    for (const FrameHeader& frame : lose(a_, now_)) pings += frame.kind == FrameKind::ping;
  }
  EXPECT_EQ(pings, 6u);
}

TEST_F(LinkPair, ReportsAPeerThatIsHeardButCannotBeReached) {
  a_.on_connected(now_);
  exchange();
  a_.on_disconnected(now_);
  for (int i = 0; i < 4; ++i) {
    advance(options().lease / 3);
    Frame ping = make_frame({.kind = FrameKind::ping,
                             .source = InstanceId(2),
                             .destination = InstanceId(1),
                             .source_epoch = 1,
                             .destination_epoch = 1});
    a_.receive(*decode_header(ping), std::move(ping), now_);
  }
  EXPECT_EQ(a_.state(), Link::State::unreachable);
  a_.on_connected(now_);
  exchange();
  EXPECT_EQ(a_.state(), Link::State::established);
}

TEST_F(LinkPair, GoesOnWhereItWasWhenThePeerIsHeardAgain) {
  ASSERT_TRUE(a_.offer(numbered(1, 1), now_));
  for (int i = 0; i < 8; ++i) {
    advance(options().lease / 6);
    lose(a_, now_);
    lose(b_, now_);
  }
  ASSERT_EQ(a_.state(), Link::State::unreachable);
  advance(options().lease);
  exchange();
  EXPECT_EQ(a_.state(), Link::State::established);
  EXPECT_TRUE(a_.drained());
}

TEST_F(LinkPair, BlamesItselfWhenItWasAway) {
  advance(options().lease * 3);
  EXPECT_EQ(a_.state(), Link::State::established);
  exchange();
}

TEST_F(LinkPair, MissesAPeerAlsoWhenItIsAwayAgainAndAgain) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(a_.state(), Link::State::established);
    advance(options().lease * 2 / 3);
    lose(a_, now_);
  }
  EXPECT_EQ(a_.state(), Link::State::unreachable);
}

TEST(LinkOptions, ATransportThatDoesNotVouchForConnectionsGetsNoMoreThanTheLease) {
  const auto options = LinkOptions::for_lossless(1 << 20, seconds(1));
  EXPECT_EQ(options.connected_lease, options.lease);
  EXPECT_GT(options.retransmit_after, options.lease) << "nothing is lost while it is connected";
  EXPECT_GT(LinkOptions::for_watched(1 << 20, seconds(1)).connected_lease, options.lease);
}

TEST_F(LinkPair, StaysQuietWhileThePeerTalks) {
  for (int i = 0; i < 20; ++i) {
    advance(options().lease / 3);
    exchange();
  }
  EXPECT_EQ(a_.state(), Link::State::established);
  EXPECT_EQ(b_.state(), Link::State::established);
}

TEST_F(LinkPair, ListsWhatThePeerMayNotHaveGot) {
  ASSERT_TRUE(a_.offer(numbered(1, 1), now_));
  exchange();
  b_.tick(now_ + options().ack_delay);
  exchange();
  for (std::uint64_t i = 2; i <= 4; ++i) ASSERT_TRUE(a_.offer(numbered(1, i, 10'000), now_));
  const auto messages = a_.unacknowledged();
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0].message_id.number, 2u);
  EXPECT_EQ(messages[2].message_id.number, 4u);
  EXPECT_EQ(messages[2].body.size(), 10'000u);
}

TEST_F(LinkPair, LeavesOnlyAfterItsLastFrameHasArrived) {
  ASSERT_TRUE(a_.offer(numbered(1, 1), now_));
  Frame data = *a_.next_frame();
  a_.handed_over(now_);
  Frame bye = a_.farewell(true);
  b_.receive(*decode_header(bye), std::move(bye), now_);
  EXPECT_EQ(b_.state(), Link::State::established);
  b_.receive(*decode_header(data), std::move(data), now_);
  EXPECT_EQ(b_.state(), Link::State::left);
}

TEST_F(LinkPair, DoesNotBelieveAnAckOfWhatWasNeverSent) {
  ASSERT_TRUE(a_.offer(numbered(1, 1), now_));
  FrameHeader lie{.kind = FrameKind::ack,
                  .source = InstanceId(2),
                  .destination = InstanceId(1),
                  .source_epoch = 1,
                  .destination_epoch = 1,
                  .ack = 99};
  a_.receive(lie, make_frame(lie), now_);
  EXPECT_FALSE(a_.drained());
}

}  // namespace
}  // namespace muster::comm
