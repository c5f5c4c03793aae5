// What every driver must do. A new driver is one row in driver_rows(); variants of one are a line
// in `kCases`.

#include <poll.h>
#include <thread>

#include <gtest/gtest.h>

#include "muster/base/random.h"
#include "muster/runtime/last_look.h"
#include "tests/support/seed.h"
#include "tests/support/station.h"

namespace muster::comm {
namespace {

struct Case {
  std::string label;
  Station::Setup setup;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.label; }

std::vector<Case> cases() {
  std::vector<Case> result;
  bool ucx = false;
  for (const DriverRow& row : driver_rows()) {
    if (!row.built()) continue;
    result.push_back({std::string(row.name), {.driver = std::string(row.name)}});
    ucx = ucx || row.name == "ucx";
  }
  result.push_back({"zmq_ipc", {.driver = "zmq", .options = {{"zmq.protocol", "ipc"}}}});
  result.push_back({"zmq_curve", {.driver = "zmq", .secret = "a secret that both know"}});
  if (!ucx) return result;
  result.push_back({"ucx_tcp", {.driver = "ucx", .options = {{"ucx.transports", "tcp"}}}});
  result.push_back({"ucx_posix", {.driver = "ucx", .options = {{"ucx.transports", "posix,tcp"}}}});
  result.push_back({"ucx_secret", {.driver = "ucx", .secret = "a secret that both know"}});
  return result;
}

class DriverConformance : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] Station::Setup setup() const { return GetParam().setup; }
};

std::string numbered(std::size_t i) { return "message " + std::to_string(i); }

TEST_P(DriverConformance, IntroducesItselfAndDeliversInOrder) {
  Station a("a", setup());
  Station b("b", setup());
  const PeerId to_b = a.connect(b);
  for (std::size_t i = 0; i < 100; ++i)
    ASSERT_EQ(a.send(to_b, a.message("count", Body::text(numbered(i)))), SendStatus::sent);
  ASSERT_TRUE(step_until({&a, &b}, [&] { return b.received.size() == 100; })) << b.received.size();
  ASSERT_EQ(b.hellos.size(), 1u);
  EXPECT_EQ(b.hellos.front(), a.self);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(b.received[i].first, b.number_of("a"));
    EXPECT_EQ(b.received[i].second.body.text(), numbered(i));
    EXPECT_EQ(b.received[i].second.tag, "count");
  }
}

TEST_P(DriverConformance, BringsEveryKindOfBodyAcross) {
  Station a("a", setup());
  Station b("b", setup());
  const std::vector<float> floats(3000, 2.5f);
  const std::vector<Body> bodies = {
      Body(),
      Body::bytes(as_bytes("raw")),
      Body::text("text"),
      Body::json(R"({"a": 1})"),
      Body::array<float>(floats),
      Body::array(DType::of<double>(), {0, 3}, Buffer()),
      Body::python(Buffer::copy_of(as_bytes("pickle")),
                   {Buffer::copy_of(as_bytes(std::string(100'000, 'x'))), Buffer(),
                    Buffer::copy_of(as_bytes("small"))}),
  };
  const PeerId to_b = a.connect(b);
  for (const Body& body : bodies) {
    Message message = a.message("kinds", body);
    message.session_type = SessionType::notification;
    message.tag_origin = "module:Tag.kinds";
    ASSERT_EQ(a.send(to_b, message), SendStatus::sent);
  }
  ASSERT_TRUE(step_until({&a, &b}, [&] { return b.received.size() == bodies.size(); }));
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(b.received[i].second.body, bodies[i]) << i;
    EXPECT_EQ(b.received[i].second.session_type, SessionType::notification);
    EXPECT_EQ(b.received[i].second.tag_origin, "module:Tag.kinds");
  }
}

TEST_P(DriverConformance, CarriesAnswersTheOtherWay) {
  Station a("a", setup());
  Station b("b", setup());
  const PeerId to_b = a.connect(b);
  Message request = a.message("ask", Body::text("?"));
  ASSERT_EQ(a.send(to_b, request), SendStatus::sent);
  ASSERT_TRUE(step_until({&a, &b}, [&] { return b.received.size() == 1; }));
  Message answer = b.message("answer", Body::text("!"));
  answer.session_id = b.received[0].second.session_id;
  answer.session_stage = SessionStage::complete;
  ASSERT_EQ(b.send(b.received[0].first, answer), SendStatus::sent);
  ASSERT_TRUE(step_until({&a, &b}, [&] { return a.received.size() == 1; }));
  EXPECT_EQ(a.received[0].first, to_b);
  EXPECT_EQ(a.received[0].second.session_id, request.session_id);
  EXPECT_EQ(a.received[0].second.session_stage, SessionStage::complete);
}

TEST_P(DriverConformance, KeepsSendersApart) {
  Station hub("hub", setup());
  std::vector<std::unique_ptr<Station>> leaves;
  std::vector<Station*> all{&hub};
  for (int i = 0; i < 5; ++i) {
    leaves.push_back(std::make_unique<Station>("leaf" + std::to_string(i), setup()));
    all.push_back(leaves.back().get());
  }
  for (auto& leaf : leaves) {
    const PeerId to_hub = leaf->connect(hub);
    for (std::size_t i = 0; i < 50; ++i)
      ASSERT_EQ(leaf->send(to_hub, leaf->message(leaf->self.name, Body::text(numbered(i)))),
                SendStatus::sent);
  }
  ASSERT_TRUE(step_until(all, [&] { return hub.received.size() == 250; }));
  std::map<PeerId, std::size_t> counts;
  for (const auto& [from, message] : hub.received) {
    EXPECT_EQ(hub.number_of(message.tag), from);
    EXPECT_EQ(message.body.text(), numbered(counts[from]++));
  }
}

TEST_P(DriverConformance, CarriesAMessageLargerThanItsQueues) {
  Station::Setup small = setup();
  small.limits.peer_bytes = 1 << 20;
  Station a("a", small);
  Station b("b", small);
  const PeerId to_b = a.connect(b);
  std::string text(20 << 20, 'x');
  text.front() = '<';
  text.back() = '>';
  ASSERT_TRUE(step_until({&a, &b}, [&, sent = false]() mutable {
    if (!sent) sent = a.send(to_b, a.message("big", Body::text(text))) == SendStatus::sent;
    return b.received.size() == 1;
  }));
  EXPECT_TRUE(b.received[0].second.body.text() == text);
}

TEST_P(DriverConformance, MakesSendersWaitAndLosesNothing) {
  Station::Setup small = setup();
  small.limits.peer_bytes = 1 << 20;
  Station a("a", small);
  Station b("b", small);
  const PeerId to_b = a.connect(b);
  b.intake = Intake::closed;
  const std::string text(1000, 'x');
  std::size_t accepted = 0;
  while (accepted < 100'000 &&
         a.send(to_b, a.message("flood", Body::text(text + numbered(accepted)))) ==
             SendStatus::sent) {
    ++accepted;
    if (accepted % 64 == 0) {
      a.step();
      b.step();
    }
  }
  ASSERT_LT(accepted, 100'000u) << "the queue has no bound";
  b.intake = Intake::open;
  std::size_t sent = accepted;
  ASSERT_TRUE(step_until(
      {&a, &b},
      [&] {
        if (sent < accepted + 100 &&
            a.send(to_b, a.message("flood", Body::text(text + numbered(sent)))) == SendStatus::sent)
          ++sent;
        return b.received.size() == accepted + 100;
      }))
      << b.received.size() << " of " << accepted + 100;
  for (std::size_t i = 0; i < b.received.size(); ++i)
    ASSERT_EQ(b.received[i].second.body.text(), text + numbered(i));
}

TEST_P(DriverConformance, SaysGoodbyeAfterEverythingElse) {
  auto a = std::make_unique<Station>("a", setup());
  Station b("b", setup());
  const PeerId to_b = a->connect(b);
  for (std::size_t i = 0; i < 200; ++i)
    ASSERT_EQ(a->send(to_b, a->message("last", Body::text(numbered(i)))), SendStatus::sent);
  ASSERT_TRUE(
      step_until({a.get(), &b}, [&] { return a->driver().drained(to_b) && !b.hellos.empty(); }));
  a->driver().close();
  ASSERT_TRUE(step_until({&b}, [&] { return !b.departures.empty(); }));
  EXPECT_EQ(b.received.size(), 200u);
  EXPECT_EQ(b.departures.begin()->second, Departure::graceful);
}

TEST_P(DriverConformance, IsEstablishedOnceThePeerKnowsIt) {
  Station a("a", setup());
  Station b("b", setup());
  const PeerId to_b = a.connect(b);
  for (int i = 0; i < 10; ++i) a.step();
  EXPECT_FALSE(a.driver().established(to_b)) << "nobody has looked there";
  ASSERT_TRUE(step_until({&a, &b}, [&] { return a.driver().established(to_b); }));
  EXPECT_TRUE(b.number_of("a").has_value());
}

TEST_P(DriverConformance, IsMetByAPeerThatTakesNothingIn) {
  Station a("a", setup());
  Station b("b", setup());
  b.intake = Intake::closed;
  const PeerId to_b = a.connect(b);
  ASSERT_TRUE(step_until({&a, &b}, [&] { return a.driver().established(to_b); }));
  EXPECT_TRUE(b.number_of("a").has_value());
}

TEST_P(DriverConformance, RefusesToSendWhereNobodyIs) {
  Station a("a", setup());
  Station b("b", setup());
  EXPECT_EQ(a.send(PeerId(7), a.message("x", {})), SendStatus::gone);
  const PeerId to_b = a.connect(b);
  a.driver().disconnect(to_b);
  a.driver().disconnect(PeerId(99));
  EXPECT_EQ(a.send(to_b, a.message("x", {})), SendStatus::gone);
}

TEST_P(DriverConformance, DoesNotDeliverWhatWasMeantForAnEarlierLife) {
  if (setup().driver == "inproc")
    return;  // its addresses are those of one object: an earlier life cannot be addressed
  Station a("a", setup());
  Station b("b", setup());
  Entry earlier_life = b.self;
  earlier_life.instance = new_instance_id();
  const PeerId to_b = a.connect(earlier_life);
  static_cast<void>(a.send(to_b, a.message("x", Body::text("stale"))));
  Station c("c", setup());
  const PeerId from_c = c.connect(b);
  ASSERT_EQ(c.send(from_c, c.message("x", Body::text("fresh"))), SendStatus::sent);
  ASSERT_TRUE(step_until({&a, &b, &c}, [&] {
    const auto counters = b.driver().counters();
    return !b.received.empty() && counters.stale + counters.strangers > 0;
  }));
  ASSERT_EQ(b.received.size(), 1u);
  EXPECT_EQ(b.received[0].second.body.text(), "fresh");
}

TEST_P(DriverConformance, DoesNotDeliverToAnotherGroup) {
  if (setup().driver == "inproc")
    return;  // a mailbox's address is random and known to its group only
  Station::Setup elsewhere = setup();
  elsewhere.group = "another group";
  Station a("a", elsewhere);
  Station b("b", setup());
  const PeerId to_b = a.connect(b);
  static_cast<void>(a.send(to_b, a.message("x", Body::text("lost"))));
  ASSERT_TRUE(step_until({&a, &b}, [&] { return b.driver().counters().strangers > 0; }));
  EXPECT_TRUE(b.received.empty());
  EXPECT_TRUE(b.hellos.empty());
}

TEST_P(DriverConformance, LendsMemoryForBodies) {
  Station a("a", setup());
  Station b("b", setup());
  const PeerId to_b = a.connect(b);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{3} << 20}) {
    auto lent = a.driver().allocate(bytes);
    ASSERT_TRUE(lent.has_value()) << lent.error().message();
    ASSERT_EQ(lent->bytes.size(), bytes);
    std::fill(lent->bytes.begin(), lent->bytes.end(), std::byte{42});
    const std::size_t before = b.received.size();
    ASSERT_EQ(a.send(to_b, a.message("lent", Body::bytes(std::move(*lent).freeze()))),
              SendStatus::sent);
    ASSERT_TRUE(step_until({&a, &b}, [&] { return b.received.size() == before + 1; }));
    const ByteSpan got = b.received.back().second.body.buffer().bytes();
    EXPECT_EQ(got.size(), bytes);
    EXPECT_TRUE(
        std::all_of(got.begin(), got.end(), [](std::byte byte) { return byte == std::byte{42}; }));
  }
}

TEST_P(DriverConformance, LeavesReceivedBuffersToTheReceiver) {
  Buffer kept;
  {
    auto a = std::make_unique<Station>("a", setup());
    auto b = std::make_unique<Station>("b", setup());
    const PeerId to_b = a->connect(*b);
    ASSERT_EQ(a->send(to_b, a->message("keep", Body::text(std::string(1 << 20, 'k')))),
              SendStatus::sent);
    ASSERT_TRUE(step_until({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
    kept = b->received[0].second.body.buffer();
  }
  EXPECT_EQ(kept.text(), std::string(1 << 20, 'k'));
}

TEST_P(DriverConformance, WakesAReceiverThatSleeps) {
  Station a("a", setup());
  Station b("b", setup());
  const PeerId to_b = a.connect(b);
  ASSERT_EQ(a.send(to_b, a.message("first", {})), SendStatus::sent);
  ASSERT_TRUE(step_until({&a, &b}, [&] { return b.received.size() == 1; }));
  for (std::size_t i = 2; i < 20; ++i) {
    b.doorbell().prepare(Doorbell::Sleep::on_fd);
    std::jthread sender([&] {
      a.driver().on_control(a);
      EXPECT_EQ(a.send(to_b, a.message("next", {})), SendStatus::sent);
      a.driver().flush();
    });
    while (b.received.size() < i) {
      pollfd slots[2] = {{b.doorbell().fd(), POLLIN, 0}, {b.driver().data_fd(), POLLIN, 0}};
      if (!last_look([&] { return b.driver().ready(); })) {
        ASSERT_GT(::poll(slots, 2, 10'000), 0) << "nobody woke the receiver";
      }
      b.doorbell().awake();
      b.driver().poll(b, Intake::open);
      b.doorbell().prepare(Doorbell::Sleep::on_fd);
    }
    b.doorbell().awake();
  }
}

TEST_P(DriverConformance, DeliversRandomTrafficBetweenThreeExactlyOnce) {
  Random random(test_seed());
  Station a("a", setup());
  Station b("b", setup());
  Station c("c", setup());
  const std::vector<Station*> all{&a, &b, &c};
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> sent;
  const auto one_message = [&] {
    Station& from = *all[random.below(3)];
    Station& to = *all[random.below(3)];
    if (&from == &to) return;
    const std::size_t size = random.chance(0.05) ? random.below(300'000) : random.below(3000);
    const std::string text = std::string(size, static_cast<char>('a' + random.below(26)));
    if (from.send(from.connect(to), from.message("r", Body::text(text))) == SendStatus::sent) {
      sent[{from.self.name.str(), to.self.name.str()}].push_back(text);
    }
  };
  for (int i = 0; i < 3000; ++i) {
    one_message();
    if (random.chance(0.3)) all[random.below(3)]->step();
  }
  std::size_t total = 0;
  for (const auto& [pair, texts] : sent) total += texts.size();
  ASSERT_TRUE(step_until(
      all, [&] { return a.received.size() + b.received.size() + c.received.size() == total; }));
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> got;
  for (Station* const to : all) {
    for (Station* const from : all) {
      for (const auto& [number, message] : to->received) {
        if (number == to->number_of(from->self.name))
          got[{from->self.name.str(), to->self.name.str()}].emplace_back(message.body.text());
      }
    }
  }
  EXPECT_TRUE(got == sent);
}

INSTANTIATE_TEST_SUITE_P(Drivers, DriverConformance, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.label; });

}  // namespace
}  // namespace muster::comm
