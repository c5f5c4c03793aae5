// Peers that die or stop while something is on its way to them.

#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/integration/ucx/ucx_end.h"
#include "tests/support/child.h"

namespace muster::comm {
namespace {

constexpr PeerId kOther(1);

// Up to the end of the line: other children may hold the other end of the pipe.
std::string read_line(int fd) {
  std::string text(64 * 1024, '\0');
  std::size_t used = 0;
  while (const ssize_t more = ::read(fd, text.data() + used, text.size() - used)) {
    if (more < 0) break;
    used += static_cast<std::size_t>(more);
    if (text[used - 1] == '\n') break;
  }
  ::close(fd);
  text.resize(used);
  return text;
}

/// A process that takes whatever comes until it is killed; its entry comes through a pipe.
class Taker {
 public:
  explicit Taker(const UcxOptions& options) {
    EXPECT_EQ(::pipe(fds_), 0);
    child_ = std::make_unique<test::Child>([this, options] {
      UcxEnd end("taker", {}, options);
      const std::string text = end.self.to_json();
      if (::write(fds_[1], text.data(), text.size()) < 0) return;
      ::close(fds_[1]);
      while (::getppid() != 1) end.step(kOther);
    });
    ::close(fds_[1]);
    entry = *Entry::from_json(read_line(fds_[0]));
  }

  test::Child& child() { return *child_; }
  Entry entry;

 private:
  int fds_[2] = {-1, -1};
  std::unique_ptr<test::Child> child_;
};

/// A process that waits to be told whom to send to, and then sends until it is killed.
class Sender {
 public:
  explicit Sender(const UcxOptions& options) {
    EXPECT_EQ(::pipe(fds_), 0);
    child_ = std::make_unique<test::Child>([this, options] {
      ::close(fds_[1]);
      const auto to = Entry::from_json(read_line(fds_[0]));
      if (!to) return;
      UcxEnd end("sender", {}, options);
      if (!end.transport->connect(kOther, *to)) return;
      while (::getppid() != 1) {
        if (end.step(kOther) && end.transport->pending_sends() == 0)
          end.transport->send(kOther, end.frame_to(*to, 100'000));
      }
    });
    ::close(fds_[0]);
  }

  void send_to(const Entry& entry) const {
    const std::string text = entry.to_json() + "\n";
    EXPECT_EQ(::write(fds_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(fds_[1]);
  }
  test::Child& child() { return *child_; }

 private:
  int fds_[2] = {-1, -1};
  std::unique_ptr<test::Child> child_;
};

class UcxPeer : public testing::TestWithParam<std::string> {
 protected:
  UcxOptions options{.transports = GetParam(), .devices = {}};

  // More than any queue between the two holds.
  void fill(UcxEnd& a, const Entry& to) {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(a.transport->send(kOther, a.frame_to(to, 1 << 20)));
    for (int i = 0; i < 100; ++i) a.step(kOther);
    ASSERT_GT(a.transport->pending_sends(), 0u);
  }
};

class UcxAnyWay : public testing::TestWithParam<std::string> {};

TEST_P(UcxPeer, ThatWasKilledIsLetGoOfAtOnce) {
  Taker taker(options);
  UcxEnd a("a", {}, options);
  ASSERT_TRUE(a.transport->connect(kOther, taker.entry).has_value());
  ASSERT_TRUE(until([&] { return a.step(kOther); }));
  taker.child().signal(SIGSTOP);
  fill(a, taker.entry);
  taker.child().kill();
  a.transport->disconnect(kOther);
  EXPECT_TRUE(until([&] {
    a.step(kOther);
    return a.transport->pending_sends() == 0;
  })) << "buffers of a dead peer are still held";
}

TEST_P(UcxPeer, ThatIsStoppedIsLetGoOfAtOnceAndMayGoOn) {
  Taker taker(options);
  UcxEnd a("a", {}, options);
  ASSERT_TRUE(a.transport->connect(kOther, taker.entry).has_value());
  ASSERT_TRUE(until([&] { return a.step(kOther); }));
  taker.child().signal(SIGSTOP);
  fill(a, taker.entry);
  a.transport->disconnect(kOther);
  EXPECT_TRUE(until([&] {
    a.step(kOther);
    return a.transport->pending_sends() == 0;
  }));
  taker.child().signal(SIGCONT);
  constexpr PeerId kAgain(2);
  ASSERT_TRUE(a.transport->connect(kAgain, taker.entry).has_value());
  EXPECT_TRUE(until([&] { return a.step(kAgain); })) << "it cannot be reached again";
}

TEST_P(UcxPeer, ThatTakesNothingDoesNotHoldUpTheEnd) {
  Taker taker(options);
  UcxEnd a("a", {}, options);
  ASSERT_TRUE(a.transport->connect(kOther, taker.entry).has_value());
  ASSERT_TRUE(until([&] { return a.step(kOther); }));
  taker.child().signal(SIGSTOP);
  fill(a, taker.entry);
  a.transport->close();  // or the test does not end
  EXPECT_EQ(a.transport->pending_sends(), 0u);
}

TEST_P(UcxPeer, ThatComesAndGoesLeavesNothing) {
  UcxEnd a("a", {}, options);
  for (std::uint32_t i = 1; i <= 5; ++i) {
    UcxEnd b("b", {}, options);
    const PeerId other(i);
    ASSERT_TRUE(a.transport->connect(other, b.self).has_value());
    ASSERT_TRUE(until([&] {
      b.step(kOther);
      return a.step(other);
    }));
    ASSERT_TRUE(a.transport->send(other, a.frame_to(b.self, 100'000)));
    ASSERT_TRUE(until([&] {
      a.step(other);
      b.step(kOther);
      return b.frames.size() == 1;
    }));
    a.transport->disconnect(other);
    EXPECT_EQ(a.transport->pending_sends(), 0u);
  }
}

// In shared memory UCX has one queue for all senders: one that is killed while it fills its place
// would leave a hole at which the receiver waits for ever.
TEST_P(UcxAnyWay, WhoIsKilledWhileItSendsDeafensNobody) {
  const UcxOptions options{.transports = GetParam(), .devices = {}};
  std::vector<std::unique_ptr<Sender>>
      senders;  // before UCX is used here, whose threads no child has
  for (int i = 0; i < 30; ++i) senders.push_back(std::make_unique<Sender>(options));
  UcxEnd a("a", {}, options);
  for (const auto& sender : senders) {
    sender->send_to(a.self);
    ASSERT_TRUE(until([&] {
      a.step(kOther);
      return !a.frames.empty();
    })) << "nothing is heard any more";
    sender->child().kill();
    a.frames.clear();
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, UcxAnyWay, testing::Values("", "tcp"), [](const auto& test) {
  return test.param.empty() ? "default" : test.param;
});

INSTANTIATE_TEST_SUITE_P(Transports, UcxPeer, testing::Values("posix", "tcp"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace muster::comm
