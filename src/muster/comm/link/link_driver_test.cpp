#include "muster/comm/link/link_driver.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "muster/comm/link/hello.h"
#include "tests/support/frame_network.h"

namespace muster::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FrameNetwork;
using testing::VirtualClock;

struct Left {
  PeerId peer;
  Departure departure;
  std::string why;
};

/// A proxy's stand-in: one driver and a record of what it delivered. Peers that knock are
/// connected.
class Node final : public DriverSink {
 public:
  Node(FrameNetwork& network, const VirtualClock& clock, const std::string& name,
       std::string group = "g", LinkOptions options = {})
      : entry(local_entry(name, "type")),
        group_(std::move(group)),
        driver(DriverContext{.self = entry,
                             .group = group_,
                             .doorbell = *bell_,
                             .clock = clock,
                             .security = {},
                             .limits = {}},
               network.transport(name), options) {
    entry.addresses["memory"] = driver.address();
  }

  std::optional<PeerId> on_hello(const Entry& peer) override {
    if (!welcoming) return std::nullopt;
    return meet(peer);
  }
  void on_message(PeerId from, Message&& message) override {
    if (echo) driver.send(from, message);
    received.push_back(std::move(message));
  }
  void on_departure(PeerId peer, Departure departure, const std::string& why) override {
    left.push_back({peer, departure, why});
    if (departure != Departure::silent) driver.disconnect(peer);
  }

  PeerId meet(const Entry& peer) {
    const PeerId id(++last_id_);
    EXPECT_TRUE(driver.connect(id, peer).has_value());
    peers[peer.name.str()] = id;
    return id;
  }

  SendStatus send(const std::string& to, std::string_view text) {
    Message message;
    message.tag = "t";
    message.body = Body::text(text);
    message.session_id = {entry.instance, 1};
    message.message_id = {entry.instance, ++sent_};
    return driver.send(peers.at(to), message);
  }

  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (const Message& message : received) texts.emplace_back(message.body.text());
    return texts;
  }

 private:
  std::unique_ptr<Doorbell> bell_ = *Doorbell::create();
  std::uint32_t last_id_ = 0;
  std::uint64_t sent_ = 0;

 public:
  Entry entry;

 private:
  std::string group_;

 public:
  LinkDriver driver;
  bool welcoming = true;
  bool echo = false;
  Intake intake = Intake::open;
  std::map<std::string, PeerId> peers;
  std::vector<Message> received;
  std::vector<Left> left;
};

class LinkDriverTest : public ::testing::Test {
 protected:
  /// Lets virtual time pass until `done`, or for `limit`.
  template <class Done>
  bool run(Done done, Duration limit = seconds(20)) {
    const TimePoint end = clock_.now() + limit;
    while (true) {
      for (Node* node : nodes_) node->driver.poll(*node, node->intake);
      if (done()) return true;
      Deadline next = network_.next_arrival();
      for (Node* node : nodes_) next = earlier(next, node->driver.next_wakeup());
      if (clock_.now() >= end) return false;
      clock_.advance_to(std::max(clock_.now() + Duration(1), std::min(next.value_or(end), end)));
    }
  }
  void run_for(Duration duration) {
    run([] { return false; }, duration);
  }

  Node& add(const std::string& name, const std::string& group = "g", LinkOptions options = {}) {
    owned_.push_back(std::make_unique<Node>(network_, clock_, name, group, options));
    nodes_.push_back(owned_.back().get());
    return *nodes_.back();
  }
  void freeze(Node& node) { std::erase(nodes_, &node); }

  VirtualClock clock_;
  FrameNetwork network_{clock_};
  std::vector<std::unique_ptr<Node>> owned_;
  std::vector<Node*> nodes_;
};

TEST_F(LinkDriverTest, IntroducesItselfAndDelivers) {
  Node& a = add("a");
  Node& b = add("b");
  a.meet(b.entry);
  EXPECT_EQ(a.send("b", "early"), SendStatus::sent);
  ASSERT_TRUE(run([&] { return b.received.size() == 1; }));
  EXPECT_EQ(b.received[0].source, "a");
  EXPECT_EQ(b.received[0].destination, "b");
  EXPECT_EQ(b.send("a", "back"), SendStatus::sent);
  ASSERT_TRUE(run([&] { return a.received.size() == 1; }));
  EXPECT_TRUE(
      run([&] { return a.driver.drained(a.peers["b"]) && b.driver.drained(b.peers["a"]); }));
}

TEST_F(LinkDriverTest, MeetsWhenBothBeginAtOnce) {
  Node& a = add("a");
  Node& b = add("b");
  a.meet(b.entry);
  b.meet(a.entry);
  a.send("b", "1");
  b.send("a", "2");
  EXPECT_TRUE(
      run([&] { return a.received.size() == 1 && b.received.size() == 1; }, milliseconds(10)));
}

TEST_F(LinkDriverTest, KeepsOrderThroughBadWeather) {
  network_.weather = {
      .loss = 0.2, .repeat = 0.2, .quickest = milliseconds(1), .slowest = milliseconds(20)};
  Node& a = add("a");
  Node& b = add("b");
  b.echo = true;
  a.meet(b.entry);
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(a.send("b", std::to_string(i)), SendStatus::sent);
    expected.push_back(std::to_string(i));
    run_for(milliseconds(1));
  }
  ASSERT_TRUE(run([&] { return a.received.size() == 300; }, seconds(100)));
  EXPECT_EQ(a.texts(), expected);
  EXPECT_EQ(b.texts(), expected);
  EXPECT_GT(b.driver.counters().stale, 0u);
}

TEST_F(LinkDriverTest, CountsGarbageAndGoesOn) {
  Node& a = add("a");
  Node& b = add("b");
  a.meet(b.entry);
  network_.inject("b", {});
  network_.inject("b", {.head = Buffer::copy_of(as_bytes("GET / HTTP/1.1\r\n\r\n")), .parts = {}});
  a.send("b", "x");
  EXPECT_TRUE(run([&] { return b.received.size() == 1; }));
  EXPECT_EQ(b.driver.counters().malformed, 2u);
}

TEST_F(LinkDriverTest, TurnsStrangersAway) {
  Node& b = add("b");
  FrameHeader header{.kind = FrameKind::data,
                     .source = InstanceId(5),
                     .destination = b.entry.instance,
                     .source_epoch = 1,
                     .destination_epoch = 1,
                     .seq = 1,
                     .records = 1};
  network_.inject("b", make_frame(header, std::vector<std::byte>(100)));  // has not said hello
  header = {.kind = FrameKind::hello,
            .source = InstanceId(5),
            .destination = InstanceId(6),
            .source_epoch = 1};
  network_.inject(
      "b", make_frame(header, as_bytes(encode_hello("g", b.entry))));  // does not know who is here
  run_for(milliseconds(1));
  EXPECT_EQ(b.driver.counters().strangers, 2u);
  EXPECT_EQ(b.driver.counters().malformed, 0u);
  EXPECT_TRUE(b.peers.empty());
}

TEST_F(LinkDriverTest, TurnsOtherGroupsAway) {
  Node& a = add("a", "other");
  Node& b = add("b");
  a.meet(b.entry);
  EXPECT_TRUE(run([&] { return b.driver.counters().strangers > 0; }));
  EXPECT_TRUE(b.peers.empty());
}

TEST_F(LinkDriverTest, RefusesAHelloInTheNameOfAnother) {
  Node& b = add("b");
  const FrameHeader header{.kind = FrameKind::hello,
                           .source = InstanceId(5),
                           .destination = b.entry.instance,
                           .source_epoch = 1};
  network_.inject("b", make_frame(header, as_bytes(encode_hello("g", b.entry))));
  run_for(milliseconds(1));
  EXPECT_EQ(b.driver.counters().malformed, 1u);
}

TEST_F(LinkDriverTest, TakesAnUnwantedPeerWhenItIsWantedLater) {
  Node& a = add("a");
  Node& b = add("b");
  b.welcoming = false;
  a.meet(b.entry);
  a.send("b", "x");
  run_for(milliseconds(500));
  EXPECT_TRUE(b.received.empty());
  b.welcoming = true;
  EXPECT_TRUE(run([&] { return b.received.size() == 1; }));
}

TEST_F(LinkDriverTest, ReportsAPeerThatLeaves) {
  Node& a = add("a");
  Node& b = add("b");
  a.meet(b.entry);
  a.send("b", "last");
  ASSERT_TRUE(run([&] { return a.driver.drained(a.peers["b"]); }));
  a.driver.close();
  freeze(a);
  ASSERT_TRUE(run([&] { return !b.left.empty(); }, milliseconds(10)));
  EXPECT_EQ(b.left[0].departure, Departure::graceful);
  EXPECT_EQ(b.texts(), std::vector<std::string>{"last"});
}

TEST_F(LinkDriverTest, ReportsASilentPeerAndTellsWhatItMayHaveMissed) {
  Node& a = add("a");
  Node& b = add("b");
  a.meet(b.entry);
  a.send("b", "1");
  ASSERT_TRUE(run([&] { return a.driver.drained(a.peers["b"]); }));
  freeze(b);
  a.send("b", "2");
  const TimePoint began = clock_.now();
  ASSERT_TRUE(run([&] { return !a.left.empty(); }));
  EXPECT_LT(clock_.now() - began, seconds(4));
  EXPECT_EQ(a.left[0].departure, Departure::silent);
  run_for(seconds(10));
  EXPECT_EQ(a.left.size(), 1u);
  const auto missed = a.driver.take_undelivered(a.peers["b"]);
  ASSERT_EQ(missed.size(), 1u);
  EXPECT_EQ(missed[0].body.text(), "2");
  EXPECT_EQ(missed[0].destination, "b");
}

TEST_F(LinkDriverTest, GoesOnAfterALongSilenceAndReportsTheNextOne) {
  Node& a = add("a");
  Node& b = add("b");
  a.meet(b.entry);
  a.send("b", "1");
  ASSERT_TRUE(run([&] { return b.received.size() == 1; }));
  network_.cut("a", "b");
  a.send("b", "2");
  ASSERT_TRUE(run([&] { return a.left.size() == 1 && b.left.size() == 1; }));
  network_.heal("a", "b");
  ASSERT_TRUE(run([&] { return b.received.size() == 2 && a.driver.drained(a.peers["b"]); }));
  network_.cut("a", "b");
  ASSERT_TRUE(run([&] { return a.left.size() == 2 && b.left.size() == 2; }));
  EXPECT_EQ(a.left[1].departure, Departure::silent);
}

TEST_F(LinkDriverTest, GoesOnAfterACutThatIsShorterThanTheLease) {
  Node& a = add("a");
  Node& b = add("b");
  a.meet(b.entry);
  a.send("b", "1");
  ASSERT_TRUE(run([&] { return b.received.size() == 1; }));
  network_.cut("a", "b");
  a.send("b", "2");
  run_for(seconds(1));
  network_.heal("a", "b");
  ASSERT_TRUE(run([&] { return b.received.size() == 2; }));
  EXPECT_TRUE(a.left.empty());
}

TEST_F(LinkDriverTest, KeepsAPeerWhoseMessageTakesLongerThanTheLease) {
  const auto options = LinkOptions::for_lossless(std::size_t{64} << 20, seconds(3));
  Node& a = add("a", "g", options);
  Node& b = add("b", "g", options);
  a.meet(b.entry);
  a.send("b", "1");
  ASSERT_TRUE(run([&] { return b.received.size() == 1; }));
  network_.weather.bytes_per_second = 100'000;
  ASSERT_EQ(a.send("b", std::string(2'000'000, 'x')), SendStatus::sent);
  EXPECT_TRUE(
      run([&] { return b.received.size() == 2 && a.driver.drained(a.peers["b"]); }, seconds(30)));
  EXPECT_TRUE(a.left.empty());
  EXPECT_TRUE(b.left.empty());
}

TEST_F(LinkDriverTest, ReportsAPeerThatNeverAnswers) {
  Node& a = add("a");
  Entry nobody = local_entry("nobody", "type");
  nobody.addresses["memory"] = "nowhere";
  a.meet(nobody);
  ASSERT_TRUE(run([&] { return !a.left.empty(); }));
  EXPECT_EQ(a.left[0].departure, Departure::silent);
}

TEST_F(LinkDriverTest, BeginsAnewWhenOneSideHasForgottenTheOther) {
  Node& a = add("a");
  Node& b = add("b");
  a.meet(b.entry);
  a.send("b", "1");
  ASSERT_TRUE(run([&] { return b.received.size() == 1 && a.driver.drained(a.peers["b"]); }));
  network_.cut("a", "b");  // so that b does not hear that it is forgotten
  a.driver.disconnect(a.peers["b"]);
  network_.heal("a", "b");
  a.meet(b.entry);
  a.send("b", "2");
  ASSERT_TRUE(run([&] { return b.received.size() == 2; }));
  ASSERT_EQ(b.left.size(), 1u);
  EXPECT_EQ(b.left[0].departure, Departure::reset);
  b.send("a", "3");
  EXPECT_TRUE(run([&] { return a.received.size() == 1; }));
  EXPECT_TRUE(a.left.empty());
}

TEST_F(LinkDriverTest, BeginsAnewWhenBothForgetAgainAndAgain) {
  network_.weather = {
      .loss = 0.1, .repeat = 0.1, .quickest = milliseconds(1), .slowest = milliseconds(50)};
  Node& a = add("a");
  Node& b = add("b");
  for (int i = 0; i < 20; ++i) {
    a.meet(b.entry);
    b.meet(a.entry);
    run_for(milliseconds(20 * i));
    a.driver.disconnect(a.peers["b"]);
    if (i % 2 == 0) b.driver.disconnect(b.peers["a"]);
  }
  a.meet(b.entry);
  run_for(seconds(5));  // old offers are on the way for 50 ms; after that the two settle
  ASSERT_EQ(a.send("b", "x"), SendStatus::sent);
  EXPECT_TRUE(run([&] { return b.texts() == std::vector<std::string>{"x"}; }));
  ASSERT_EQ(b.send("a", "y"), SendStatus::sent);
  EXPECT_TRUE(run([&] { return a.texts() == std::vector<std::string>{"y"}; }));
}

TEST_F(LinkDriverTest, KeepsWhatArrivesWhileTheIntakeIsClosed) {
  LinkOptions options;
  options.window_bytes = 100'000;
  Node& a = add("a", "g", options);
  Node& b = add("b", "g", options);
  a.meet(b.entry);
  b.intake = Intake::closed;
  std::size_t sent = 0;
  const std::string text(1000, 'x');
  while (sent < 1000) {
    const SendStatus status = a.send("b", text);
    run_for(milliseconds(5));
    if (status == SendStatus::full && a.send("b", text) == SendStatus::full) break;
    ++sent;
  }
  EXPECT_LT(sent, 250u);
  EXPECT_TRUE(b.received.empty());
  EXPECT_TRUE(b.driver.ready());
  run_for(seconds(20));
  EXPECT_TRUE(a.left.empty());
  b.intake = Intake::open;
  EXPECT_TRUE(run([&] { return b.received.size() >= sent && a.driver.drained(a.peers["b"]); }));
}

TEST_F(LinkDriverTest, SaysGoneForUnknownPeers) {
  Node& a = add("a");
  EXPECT_EQ(a.driver.send(PeerId(99), {}), SendStatus::gone);
  EXPECT_TRUE(a.driver.drained(PeerId(99)));
  a.driver.disconnect(PeerId(99));
  a.driver.close();
  EXPECT_FALSE(a.driver.connect(PeerId(1), a.entry).has_value());
}

}  // namespace
}  // namespace muster::comm
