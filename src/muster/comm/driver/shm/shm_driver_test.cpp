#include "muster/comm/driver/shm/shm_driver.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "muster/comm/driver/shm/packets.h"
#include "muster/comm/driver/shm/test_node.h"

namespace muster::comm::shm {
namespace {

std::string letters(std::size_t size, char first = 'a') {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(first + i % 23);
  return text;
}

TEST(ShmDriver, BringsEveryKindOfBodyAcross) {
  TestNode a("a");
  TestNode b("b");
  const PeerId to = a.connect(b);
  const std::vector<double> numbers{1.5, 2.5, 3.5};
  const std::vector<Body> bodies{
      Body(),
      Body::text("text"),
      Body::json(letters(70)),
      Body::text(letters(8000)),
      Body::array<double>(numbers),
      Body::bytes(as_bytes(letters(100'000))),
      Body::array<double>(std::vector<double>(20'000, 0.5)),
      Body::python(Buffer::copy_of(as_bytes("pickle")),
                   {Buffer::copy_of(as_bytes(letters(50'000))), Buffer(),
                    Buffer::copy_of(as_bytes(letters(20'001, 'b')))}),
  };
  std::uint64_t number = 0;
  for (const Body& body : bodies) {
    ASSERT_EQ(a.driver().send(to, test_message(a.self(), ++number, body)), SendStatus::sent);
  }
  ASSERT_TRUE(run_until({&a, &b}, [&] { return b.received.size() == bodies.size(); }));
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(b.received[i].body, bodies[i]) << i;
    EXPECT_EQ(b.received[i].source, "a");
    EXPECT_EQ(b.received[i].destination, "b");
    EXPECT_EQ(b.received[i].message_id, (MessageId{a.self().instance, i + 1}));
  }
}

TEST(ShmDriver, KeepsTheOrderThroughManyTurnsOfTheRing) {
  TestNode a("a");
  TestNode b("b");
  const PeerId to = a.connect(b);
  constexpr std::uint64_t kCount = 50'000;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  b.on_each = [&](PeerId, Message&& message) {
    ++received;
    ASSERT_EQ(message.message_id.number, received);
    ASSERT_EQ(message.body.size(), received % 300);
  };
  const std::string text = letters(300);
  ASSERT_TRUE(run_until({&a, &b}, [&] {
    while (sent < kCount) {
      const auto body = Body::text(std::string_view(text).substr(0, (sent + 1) % 300));
      if (a.driver().send(to, test_message(a.self(), sent + 1, body)) != SendStatus::sent) break;
      ++sent;
    }
    return received == kCount;
  }));
}

TEST(ShmDriver, DeliversWhatWasSentBeforeTheConnectionWasAccepted) {
  TestNode b("b");
  auto a = std::make_unique<TestNode>("a");
  const PeerId to = a->connect(b);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(a->driver().send(to, test_message(a->self(), i, Body::text(letters(20'000)))),
              SendStatus::sent);
  }
  EXPECT_FALSE(a->driver().drained(to));
  a.reset();
  ASSERT_TRUE(run_until({&b}, [&] { return !b.departed.empty(); }));
  EXPECT_EQ(b.departed[0].after, 3u);
  EXPECT_EQ(b.departed[0].departure, Departure::graceful);
  EXPECT_EQ(b.received[2].body.text(), letters(20'000));
}

TEST(ShmDriver, TellsBothSidesWhenOneCloses) {
  TestNode a("a");
  TestNode b("b");
  const PeerId to_b = a.connect(b);
  const PeerId to_a = b.connect(a);
  ASSERT_TRUE(
      run_until({&a, &b}, [&] { return a.driver().drained(to_b) && b.driver().drained(to_a); }));
  b.driver().close();
  ASSERT_TRUE(run_until({&a}, [&] { return !a.departed.empty(); }));
  for (int i = 0; i < 10; ++i) a.step();
  ASSERT_EQ(a.departed.size(), 1u);
  EXPECT_EQ(a.departed[0].departure, Departure::graceful);
  EXPECT_EQ(a.driver().send(to_b, test_message(a.self(), 1, {})), SendStatus::gone);
}

TEST(ShmDriver, TellsAPeerThatItIsForgotten) {
  TestNode a("a");
  TestNode b("b");
  a.connect(b);
  const PeerId to_a = b.connect(a);
  ASSERT_TRUE(run_until({&a, &b}, [&] { return b.driver().drained(to_a); }));
  b.driver().disconnect(to_a);
  ASSERT_TRUE(run_until({&a, &b}, [&] { return !a.departed.empty(); }));
  EXPECT_EQ(a.departed[0].departure, Departure::reset);
  EXPECT_TRUE(b.departed.empty());
}

TEST(ShmDriver, KeepsADepartureBackUntilEverythingIsTaken) {
  auto a = std::make_unique<TestNode>("a");
  TestNode b("b");
  const PeerId to = a->connect(b);
  ASSERT_EQ(a->driver().send(to, test_message(a->self(), 1, Body::text("last"))), SendStatus::sent);
  a.reset();
  for (int i = 0; i < 10; ++i) b.step(Intake::closed);
  EXPECT_TRUE(b.received.empty());
  EXPECT_TRUE(b.departed.empty());
  ASSERT_TRUE(run_until({&b}, [&] { return !b.departed.empty(); }));
  EXPECT_EQ(b.departed[0].after, 1u);
}

TEST(ShmDriver, ReturnsWhatAPeerDidNotTake) {
  TestNode a("a");
  TestNode b("b");
  const PeerId to = a.connect(b);
  const std::vector<Body> bodies{Body::text("one"), Body::bytes(as_bytes(letters(200'000))),
                                 Body::text("three")};
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(a.driver().send(to, test_message(a.self(), i + 1, bodies[i])), SendStatus::sent);
  }
  for (int i = 0; i < 10; ++i) {
    a.step();
    b.step(Intake::closed);
  }
  b.driver().close();
  ASSERT_TRUE(run_until({&a}, [&] { return !a.departed.empty(); }));
  const auto& back = a.departed[0].undelivered;
  ASSERT_EQ(back.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back[i].body, bodies[i]);
    EXPECT_EQ(back[i].message_id.number, i + 1);
    EXPECT_EQ(back[i].source, "a");
    EXPECT_EQ(back[i].destination, "b");
  }
}

TEST(ShmDriver, RefusesWhoeverIsNotWanted) {
  TestNode a("a");
  TestNode b("b");
  b.welcome = false;
  a.connect(b);
  ASSERT_TRUE(run_until({&a, &b}, [&] { return !a.departed.empty(); }));
  EXPECT_EQ(a.departed[0].departure, Departure::reset);
  EXPECT_EQ(a.departed[0].why, "it refused the connection: not wanted");
}

TEST(ShmDriver, CountsThoseWhoMeanAnotherInstanceOrGroup) {
  TestNode b("b");
  Entry earlier = b.self();
  earlier.instance = new_instance_id();
  TestNode stale("stale");
  ASSERT_TRUE(stale.driver().connect(PeerId(1), earlier).has_value());
  TestNode stranger("stranger", {}, {}, "another group");
  stranger.connect(b);
  ASSERT_TRUE(run_until({&stale, &stranger, &b},
                        [&] { return !stale.departed.empty() && !stranger.departed.empty(); }));
  EXPECT_EQ(stale.departed[0].departure, Departure::lost);
  EXPECT_EQ(b.driver().counters().stale, 1u);
  EXPECT_EQ(b.driver().counters().strangers, 1u);
}

TEST(ShmDriver, SaysWhenThereIsNobodyToConnectTo) {
  TestNode a("a");
  Entry nobody = a.self();
  nobody.addresses["shm"] = "muster-shm-nobody";
  const auto connected = a.driver().connect(PeerId(9), nobody);
  ASSERT_FALSE(connected.has_value());
  EXPECT_NE(connected.error().message().find("connect to peer 'a' over shm"), std::string::npos);
  nobody.addresses.clear();
  EXPECT_FALSE(a.driver().connect(PeerId(9), nobody).has_value());
  EXPECT_EQ(a.driver().send(PeerId(9), test_message(a.self(), 1, {})), SendStatus::gone);
}

TEST(ShmDriver, SurvivesGarbageAtTheDoor) {
  TestNode b("b");
  std::vector<FileDescriptor> sockets;
  for (const std::string text : {"h", "h{}", "garbage", "s1234", "w"}) {
    sockets.push_back(connect_unix(b.driver().address()).value());
    ASSERT_EQ(send_packet(sockets.back(), as_bytes(text)), PacketStatus::done);
  }
  sockets.push_back(connect_unix(b.driver().address()).value());
  ASSERT_EQ(send_packet(sockets.back(), as_bytes(std::string(100'000, 'h'))), PacketStatus::done);
  sockets.push_back(connect_unix(b.driver().address()).value());  // says nothing
  // A proper hello with memory that is no link.
  TestNode a("a");
  const auto wrong = create_memory_file("muster-test", 4096).value();
  sockets.push_back(connect_unix(b.driver().address()).value());
  ASSERT_EQ(send_hello(sockets.back(), hello_text(a.self(), "group", b.self().instance, "bell"), "",
                       wrong.get(), wrong.get()),
            PacketStatus::done);
  ASSERT_TRUE(run_until({&b}, [&] { return b.driver().counters().malformed == 7; }));
  const PeerId to = a.connect(b);
  ASSERT_EQ(a.driver().send(to, test_message(a.self(), 1, Body::text("fine"))), SendStatus::sent);
  ASSERT_TRUE(run_until({&a, &b}, [&] { return b.received.size() == 1; }));
}

// A sender whose ring the test writes by hand.
struct HandMadeSender {
  explicit HandMadeSender(TestNode& to)
      : node("sender"), memory(LinkMemory::create(65536).value()) {
    socket = connect_unix(to.driver().address()).value();
    EXPECT_EQ(
        send_hello(socket,
                   hello_text(node.self(), "group", to.self().instance, node.bell().socket_name()),
                   "", memory.file().get(), node.bell().page_fd()),
        PacketStatus::done);
  }
  TestNode node;
  LinkMemory memory;
  FileDescriptor socket;
};

TEST(ShmDriver, ClosesALinkThatMakesNoSense) {
  for (const std::uint64_t written : {std::uint64_t{8}, std::uint64_t{64}, ~std::uint64_t{0}}) {
    TestNode b("b");
    HandMadeSender sender(b);
    sender.memory.indices().written.store(written);
    ASSERT_TRUE(run_until({&b}, [&] { return !b.departed.empty(); }));
    EXPECT_EQ(b.departed[0].departure, Departure::lost);
    EXPECT_EQ(b.driver().counters().malformed, 1u);
    EXPECT_TRUE(b.received.empty());
  }
}

TEST(ShmDriver, RefusesASecondConnectionOfTheSamePeer) {
  TestNode a("a");
  TestNode b("b");
  const PeerId to = a.connect(b);
  ASSERT_TRUE(run_until({&a, &b}, [&] { return a.driver().drained(to); }));
  const auto socket = connect_unix(b.driver().address()).value();
  auto memory = LinkMemory::create(65536).value();
  ASSERT_EQ(
      send_hello(socket, hello_text(a.self(), "group", b.self().instance, a.bell().socket_name()),
                 "", memory.file().get(), a.bell().page_fd()),
      PacketStatus::done);
  ASSERT_TRUE(run_until({&a, &b}, [&] { return b.driver().counters().stale == 1; }));
  ASSERT_EQ(a.driver().send(to, test_message(a.self(), 1, Body::text("fine"))), SendStatus::sent);
  ASSERT_TRUE(run_until({&a, &b}, [&] { return b.received.size() == 1; }));
}

TEST(ShmDriver, HandsLentMemoryOverWithoutACopy) {
  TestNode a("a");
  TestNode b("b");
  TestNode c("c");
  const PeerId to_b = a.connect(b);
  const PeerId to_c = a.connect(c);
  auto lent = a.driver().allocate(1 << 20).value();
  std::byte* const data = lent.bytes.data();
  data[0] = std::byte{1};
  const Buffer contents = std::move(lent).freeze();
  for (const PeerId to : {to_b, to_c}) {
    ASSERT_EQ(a.driver().send(to, test_message(a.self(), 1, Body::bytes(contents))),
              SendStatus::sent);
  }
  ASSERT_TRUE(run_until({&a, &b, &c}, [&] { return b.received.size() + c.received.size() == 2; }));
  // Written after it was sent, against the rules: both see it, so it is the same memory.
  data[0] = std::byte{2};
  EXPECT_EQ(b.received[0].body.buffer().data()[0], std::byte{2});
  EXPECT_EQ(c.received[0].body.buffer().data()[0], std::byte{2});
}

TEST(ShmDriver, LetsBuffersOutliveBothDrivers) {
  auto a = std::make_unique<TestNode>("a");
  auto b = std::make_unique<TestNode>("b");
  const PeerId to = a->connect(*b);
  auto memory = a->driver().allocate(100'000).value();
  const Buffer lent = std::move(memory).freeze();
  ASSERT_EQ(a->driver().send(to, test_message(a->self(), 1, Body::text(letters(100'000)))),
            SendStatus::sent);
  ASSERT_TRUE(run_until({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
  const Buffer kept = b->received[0].body.buffer();
  b.reset();
  // The receiver still reads: the sender must not use the memory again.
  for (std::uint64_t i = 0; i < 3; ++i) a->step();
  TestNode c("c");
  const PeerId to_c = a->connect(c);
  ASSERT_EQ(a->driver().send(to_c, test_message(a->self(), 2, Body::text(letters(100'000, 'b')))),
            SendStatus::sent);
  EXPECT_EQ(kept.text(), letters(100'000));
  a.reset();
  EXPECT_EQ(kept.text(), letters(100'000));
  EXPECT_EQ(lent.size(), 100'000u);
}

TEST(ShmDriver, HoldsASenderBackUntilTheReceiverTakesItsLargeBodies) {
  TestNode a("a", {}, {.peer_bytes = 1 << 20});
  TestNode b("b");
  const PeerId to = a.connect(b);
  const Body body = Body::bytes(as_bytes(letters(600'000)));
  ASSERT_EQ(a.driver().send(to, test_message(a.self(), 1, body)), SendStatus::sent);
  for (int i = 0; i < 5; ++i) {
    a.step();
    b.step(Intake::closed);
  }
  EXPECT_EQ(a.driver().send(to, test_message(a.self(), 2, body)), SendStatus::full);
  EXPECT_EQ(a.driver().send(to, test_message(a.self(), 2, Body::text("small"))), SendStatus::sent);
  a.step();
  EXPECT_FALSE(a.driver().ready());
  ASSERT_TRUE(run_until({&b}, [&] { return b.received.size() == 2; }));
  EXPECT_TRUE(a.driver().ready()) << "the sender was not told";
  EXPECT_EQ(a.driver().send(to, test_message(a.self(), 3, body)), SendStatus::sent);
}

TEST(ShmDriver, GoesOnWhenAReceiverKeepsEverything) {
  // Ten times what the arena may hold, and more messages than there are slots.
  TestNode a("a", {.arena_bytes = std::size_t{8} << 20});
  TestNode b("b");
  const PeerId to = a.connect(b);
  constexpr std::size_t kCount = 5000;
  std::uint64_t sent = 0;
  ASSERT_TRUE(run_until({&a, &b}, [&] {
    while (sent < kCount &&
           a.driver().send(
               to, test_message(a.self(), sent + 1, Body::text(letters(16'000 + sent % 1000)))) ==
               SendStatus::sent) {
      ++sent;
    }
    return b.received.size() == kCount;
  })) << b.received.size();
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(b.received[i].body.text(), letters(16'000 + i % 1000)) << i;
  }
}

TEST(ShmDriver, SendsABodyLargerThanTheArenaWhenNothingElseIsUnderWay) {
  TestNode a("a", {.arena_bytes = 1 << 20});
  TestNode b("b");
  const PeerId to = a.connect(b);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const Body body = Body::bytes(as_bytes(letters(5 << 20)));
    ASSERT_TRUE(run_until({&a, &b}, [&, sent = false]() mutable {
      if (!sent) sent = a.driver().send(to, test_message(a.self(), i, body)) == SendStatus::sent;
      return b.received.size() == i;
    }));
  }
  EXPECT_EQ(b.received[2].body.buffer().text().substr(0, 100), letters(100));
}

std::size_t open_files() {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(file);
    ++count;
  }
  return count;
}

TEST(ShmDriver, LeavesNothingBehind) {
  const std::size_t files = open_files();
  {
    TestNode a("a");
    TestNode b("b");
    const PeerId to_b = a.connect(b);
    b.connect(a);
    ASSERT_EQ(a.driver().send(to_b, test_message(a.self(), 1, Body::text(letters(100'000)))),
              SendStatus::sent);
    ASSERT_TRUE(run_until({&a, &b}, [&] { return b.received.size() == 1; }));
    EXPECT_GT(mappings_of("muster-arena"), 0u);
  }
  EXPECT_EQ(open_files(), files);
  EXPECT_EQ(mappings_of("muster-ring"), 0u);
  EXPECT_EQ(mappings_of("muster-arena"), 0u);
}

}  // namespace
}  // namespace muster::comm::shm
