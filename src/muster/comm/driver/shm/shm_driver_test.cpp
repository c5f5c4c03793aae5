#include "muster/comm/driver/shm/shm_driver.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace muster::comm::shm
