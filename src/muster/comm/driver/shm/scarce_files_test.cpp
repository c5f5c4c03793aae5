// What happens while a process has no descriptor left for what others send it.
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/comm/driver/shm/test_node.h"

namespace muster::comm::shm {
namespace {

// In a child process, because limits are those of a whole process.
void in_a_child(const std::function<void()>& body) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "UBSan looks at objects through a pipe, and takes its absence for a bad object";
#endif
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Takes all descriptors of the process but a few.
class Scarcity {
 public:
  explicit Scarcity(std::size_t left) {
    constexpr rlim_t kLimit = 256;
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min(limit.rlim_max, kLimit);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) taken_.emplace_back(fd);
    EXPECT_GE(taken_.size(), left);
    taken_.resize(taken_.size() - left);
  }
  void end() { taken_.clear(); }

 private:
  std::vector<FileDescriptor> taken_;
};

bool wants_attention(TestNode& node) {
  pollfd slot{node.driver().control_fd(), POLLIN, 0};
  return ::poll(&slot, 1, 0) == 1;
}

void step(std::vector<TestNode*> nodes) {
  for (int i = 0; i < 20; ++i) {
    for (TestNode* node : nodes) node->step();
  }
}

void expect_to_talk(TestNode& a, TestNode& b, PeerId to) {
  ASSERT_EQ(a.driver().send(to, test_message(a.self(), 1, Body::text("hello"))), SendStatus::sent);
  ASSERT_TRUE(run_until({&a, &b}, [&] { return b.received.size() == 1 && a.driver().drained(to); }))
      << b.received.size();
  EXPECT_TRUE(a.departed.empty() && b.departed.empty());
  EXPECT_EQ(a.driver().counters().malformed + b.driver().counters().malformed, 0u);
}

TEST(ShmScarceFiles, ANewcomerWaitsUntilItCanBeAccepted) {
  in_a_child([] {
    TestNode a("a");
    TestNode b("b");
    const PeerId to = a.connect(b);
    Scarcity scarcity(0);
    step({&a, &b});
    EXPECT_FALSE(wants_attention(b)) << "its thread would spin";
    scarcity.end();
    expect_to_talk(a, b, to);
  });
}

TEST(ShmScarceFiles, AHelloWaitsUntilWhatItBringsCanBeTaken) {
  for (const std::size_t left : {1, 2}) {
    in_a_child([left] {
      TestNode a("a");
      TestNode b("b");
      const PeerId to = a.connect(b);
      Scarcity scarcity(left);
      step({&a, &b});
      EXPECT_FALSE(wants_attention(b)) << "its thread would spin";
      scarcity.end();
      expect_to_talk(a, b, to);
    });
  }
}

TEST(ShmScarceFiles, AWelcomeWaitsUntilWhatItBringsCanBeTaken) {
  in_a_child([] {
    TestNode a("a");
    TestNode b("b");
    const PeerId to = a.connect(b);
    for (int i = 0; i < 20; ++i) b.step();
    Scarcity scarcity(0);
    step({&a, &b});
    EXPECT_FALSE(a.driver().drained(to));
    EXPECT_FALSE(wants_attention(a)) << "its thread would spin";
    scarcity.end();
    expect_to_talk(a, b, to);
  });
}

TEST(ShmScarceFiles, ALargeMessageWaitsUntilItsMemoryCanBeTaken) {
  in_a_child([] {
    auto a = std::make_unique<TestNode>("a");
    TestNode b("b");
    const PeerId to = a->connect(b);
    ASSERT_TRUE(run_until({a.get(), &b}, [&] { return a->driver().drained(to); }));
    const std::string large(1'000'000, 'x');
    for (std::uint64_t i = 1; i <= 2; ++i) {
      ASSERT_EQ(a->driver().send(to, test_message(a->self(), i, Body::text(large))),
                SendStatus::sent);
    }
    Scarcity scarcity(0);
    step({a.get(), &b});
    EXPECT_TRUE(b.received.empty());
    EXPECT_FALSE(b.driver().ready()) << "its thread would spin";
    EXPECT_FALSE(wants_attention(b)) << "its thread would spin";
    // Also when the sender is gone meanwhile.
    a.reset();
    Scarcity of_what_it_had(0);
    step({&b});
    EXPECT_TRUE(b.departed.empty());
    of_what_it_had.end();
    scarcity.end();
    ASSERT_TRUE(run_until({&b}, [&] { return !b.departed.empty(); }));
    EXPECT_EQ(b.departed[0].after, 2u);
    EXPECT_EQ(b.departed[0].departure, Departure::graceful);
    EXPECT_EQ(b.received[1].body.text(), large);
    EXPECT_EQ(b.driver().counters().malformed, 0u);
  });
}

}  // namespace
}  // namespace muster::comm::shm
