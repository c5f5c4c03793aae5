// Which way messages take, how large they may be, and how one waits for them.

#include <poll.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <gtest/gtest.h>

#include "tests/integration/ucx/ucx_end.h"
#include "tests/support/station.h"

namespace muster::comm {
namespace {

constexpr PeerId kOther(1);

bool meet(UcxEnd& a, UcxEnd& b) {
  return a.transport->connect(kOther, b.self).has_value() && until([&] {
           b.step(kOther);
           return a.step(kOther);
         });
}

TEST(UcxLine, UsesTcpOnOneHost) {
  UcxEnd a("a");
  UcxEnd b("b");
  ASSERT_TRUE(meet(a, b));
  EXPECT_EQ(a.transport->route(kOther), "tcp");
}

TEST(UcxLine, UsesSharedMemoryWhereItIsToldTo) {
  UcxEnd a("a", {}, {.transports = "posix", .devices = {}});
  UcxEnd b("b", {}, {.transports = "posix", .devices = {}});
  ASSERT_TRUE(meet(a, b));
  EXPECT_EQ(a.transport->route(kOther), "posix");
}

class UcxSizes : public testing::TestWithParam<std::string> {};

TEST_P(UcxSizes, CarryAHundredMebibytes) {
  const Station::Setup setup{.driver = "ucx", .options = {{"ucx.transports", GetParam()}}};
  Station a("a", setup);
  Station b("b", setup);
  const PeerId to_b = a.connect(b);
  std::string text(100 << 20, 'x');
  for (std::size_t i = 0; i < text.size(); i += 4093) text[i] = static_cast<char>('a' + i % 26);
  ASSERT_EQ(a.send(to_b, a.message("big", Body::text(text))), SendStatus::sent);
  ASSERT_TRUE(step_until({&a, &b}, [&, sent = false]() mutable {
    if (!sent) sent = a.send(to_b, a.message("small", Body::text("after"))) == SendStatus::sent;
    return b.received.size() == 2;
  }));
  EXPECT_TRUE(b.received[0].second.body.text() == text);
  EXPECT_EQ(b.received[1].second.body.text(), "after");
}

INSTANTIATE_TEST_SUITE_P(Transports, UcxSizes, testing::Values("posix", "tcp"),
                         [](const auto& test) { return test.param; });

TEST(UcxLine, SleepsWhileNothingComes) {
  UcxEnd a("a");
  UcxEnd b("b");
  ASSERT_TRUE(meet(a, b));
  ASSERT_TRUE(until([&] {
    b.step(kOther);
    return !b.transport->ready();
  }));
  EXPECT_FALSE(b.transport->next_wakeup().has_value()) << "nothing is due";
  pollfd slot{b.transport->data_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&slot, 1, 0), 0);
  ASSERT_TRUE(a.transport->send(kOther, a.frame_to(b.self)));
  EXPECT_EQ(::poll(&slot, 1, 10'000), 1) << "nobody woke it";
  EXPECT_TRUE(b.transport->ready());
}

TEST(UcxLine, TellsThatAFrameIsArrivingBeforeItIsWhole) {
  UcxEnd a("a");
  UcxEnd b("b");
  ASSERT_TRUE(meet(a, b));
  ASSERT_TRUE(meet(b, a));
  EXPECT_FALSE(b.transport->heard(kOther).has_value());
  ASSERT_TRUE(a.transport->send(kOther, a.frame_to(b.self, 100 << 20)));
  ASSERT_TRUE(until([&] {
    a.step(kOther);
    b.step(kOther);
    return b.transport->heard(kOther).has_value();
  }));
  EXPECT_TRUE(b.frames.empty());
  const auto first = *b.transport->heard(kOther);
  ASSERT_TRUE(until([&] {
    a.step(kOther);
    b.step(kOther);
    return !b.frames.empty();
  }));
  EXPECT_GT(*b.transport->heard(kOther), first);
}

TEST(UcxLine, DoesNotSpinForAPeerThatTakesNothing) {
  UcxEnd a("a");
  UcxEnd b("b");
  ASSERT_TRUE(meet(a, b));
  ASSERT_TRUE(a.transport->send(kOther, a.frame_to(b.self, 10 << 20)));
  // As a proxy does: it looks again when it is told to, and sleeps in between.
  SteadyClock clock;
  std::size_t looks = 0;
  bool slept = false;
  ASSERT_TRUE(until([&] {
    a.step(kOther);
    ++looks;
    slept = !a.transport->ready() && a.transport->next_wakeup() &&
            *a.transport->next_wakeup() - clock.now() > std::chrono::milliseconds(1);
    return slept;
  }));
  EXPECT_GT(a.transport->pending_sends(), 0u);
  ASSERT_TRUE(until([&] {
    a.step(kOther);
    b.step(kOther);
    return !b.frames.empty();
  }));
  EXPECT_EQ(a.transport->pending_sends(), 0u);
}

}  // namespace
}  // namespace muster::comm
