// What survivors see when the process at the other end is killed.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/comm/driver/shm/test_node.h"

namespace muster::comm::shm {
namespace {

// A process with a node of its own, connected with `parent` both ways. Its function never returns:
// it is killed.
class Child {
 public:
  using Run =
      std::function<void(TestNode& node, PeerId parent, const std::function<void()>& signal)>;

  Child(TestNode& parent, const Run& run) {
    int fds[2];
    EXPECT_EQ(::pipe(fds), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(fds[0]);
      be_child(parent.self(), fds[1], run);
    }
    ::close(fds[1]);
    from_child_ = FileDescriptor(fds[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill(); }

  /// False when the child died instead.
  bool wait_for_signal() {
    char byte = 0;
    return ::read(from_child_.get(), &byte, 1) == 1;
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  [[noreturn]] static void be_child(const Entry& parent, int to_parent, const Run& run) {
    ::alarm(60);
    TestNode node("child");
    const PeerId id = node.id_of(parent);
    if (!node.driver().connect(id, parent)) ::_exit(1);
    run(node, id, [to_parent] {
      if (::write(to_parent, "x", 1) != 1) ::_exit(1);
    });
    for (;;) ::pause();
  }

  pid_t pid_ = -1;
  FileDescriptor from_child_;
};

std::string text_of(std::uint64_t number) {
  const std::size_t size = number % 10 == 0 ? 30'000 : number % 200;
  return std::string(size, static_cast<char>('a' + number % 26));
}

TEST(ShmCrash, DeliversWhatAKilledSenderHadPublished) {
  TestNode parent("parent");
  Child child(parent, [](TestNode& node, PeerId to, const std::function<void()>& signal) {
    for (std::uint64_t i = 1;; ++i) {
      while (node.driver().send(to, test_message(node.self(), i, Body::text(text_of(i)))) !=
             SendStatus::sent) {
        node.step();
      }
      if (i == 100) signal();
    }
  });
  ASSERT_TRUE(child.wait_for_signal());
  for (int i = 0; i < 50; ++i) parent.step();
  child.kill();
  ASSERT_TRUE(run_until({&parent}, [&] { return !parent.departed.empty(); }));
  EXPECT_EQ(parent.departed[0].departure, Departure::lost);
  EXPECT_EQ(parent.departed[0].after, parent.received.size());
  ASSERT_GE(parent.received.size(), 100u);
  for (std::size_t i = 0; i < parent.received.size(); ++i) {
    ASSERT_EQ(parent.received[i].message_id.number, i + 1);
    ASSERT_EQ(parent.received[i].body.text(), text_of(i + 1));
  }
  for (int i = 0; i < 10; ++i) parent.step();
  EXPECT_EQ(parent.departed.size(), 1u);
  // What was received keeps the dead process's memory; then nothing is left of it.
  EXPECT_GT(mappings_of("muster-arena"), 0u);
  parent.received.clear();
  EXPECT_EQ(mappings_of("muster-arena"), 0u);
  EXPECT_EQ(mappings_of("muster-ring"), 0u);
}

TEST(ShmCrash, TakesMemoryBackFromAKilledReceiver) {
  constexpr std::size_t kMebi = std::size_t{1} << 20;
  TestNode parent("parent", {.arena_bytes = 8 * kMebi});
  Child child(parent, [](TestNode& node, PeerId, const std::function<void()>& signal) {
    while (node.received.size() < 4) node.step();
    signal();
  });
  std::optional<PeerId> to;
  ASSERT_TRUE(run_until({&parent}, [&] {
    // The child knocked, so its name is known; the answer goes the other way.
    if (!to && parent.last_hello) {
      to = parent.id_of(*parent.last_hello);
      EXPECT_TRUE(parent.driver().connect(*to, *parent.last_hello).has_value());
    }
    return to.has_value();
  }));
  for (std::uint64_t i = 1; i <= 4; ++i) {
    const Body body = Body::text(std::string(kMebi, 'x'));
    ASSERT_TRUE(run_until({&parent}, [&] {
      return parent.driver().send(*to, test_message(parent.self(), i, body)) == SendStatus::sent;
    }));
  }
  ASSERT_TRUE(child.wait_for_signal());
  EXPECT_FALSE(parent.driver().allocate(6 * kMebi).has_value()) << "the child holds 4 MiB";
  child.kill();
  ASSERT_TRUE(run_until({&parent}, [&] { return !parent.departed.empty(); }));
  EXPECT_TRUE(parent.departed[0].undelivered.empty());
  EXPECT_EQ(parent.driver().send(*to, test_message(parent.self(), 5, {})), SendStatus::gone);
  EXPECT_TRUE(parent.driver().allocate(6 * kMebi).has_value());
  parent.step();
  EXPECT_EQ(mappings_of("muster-ring"), 0u);
}

TEST(ShmFork, AChildThatLetsGoOfWhatItInheritedDoesNotDisturbItsParent) {
  TestNode b("b");
  TestNode c("c");
  auto a = std::make_unique<TestNode>("a");
  const PeerId to_b = a->connect(b);
  const PeerId to_c = a->connect(c);
  const std::string text(100'000, 'x');
  ASSERT_EQ(a->driver().send(to_b, test_message(a->self(), 1, Body::text(text))), SendStatus::sent);
  ASSERT_TRUE(run_until({a.get(), &b, &c}, [&] { return b.received.size() == 1; }));
  const pid_t child = ::fork();
  if (child == 0) {
    b.received.clear();
    b.destroy_driver();
    a.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const std::string other(100'000, 'y');
  ASSERT_EQ(a->driver().send(to_c, test_message(a->self(), 2, Body::text(other))),
            SendStatus::sent);
  ASSERT_EQ(a->driver().send(to_b, test_message(a->self(), 3, Body::text("on"))), SendStatus::sent);
  ASSERT_TRUE(run_until({a.get(), &b, &c},
                        [&] { return b.received.size() == 2 && c.received.size() == 1; }));
  EXPECT_EQ(b.received[0].body.text(), text);
  EXPECT_TRUE(b.departed.empty());
  b.driver().close();
  ASSERT_TRUE(run_until({a.get()}, [&] { return !a->departed.empty(); }));
}

TEST(ShmCrash, IsNoticedAlthoughAChildOfTheDeadProcessHasItsSockets) {
  TestNode parent("parent");
  int grandchild_pipe[2];
  ASSERT_EQ(::pipe(grandchild_pipe), 0);
  Child child(parent, [&](TestNode& node, PeerId to, const std::function<void()>& signal) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      // Ends when the test does.
      ::close(grandchild_pipe[1]);
      char byte = 0;
      static_cast<void>(!::read(grandchild_pipe[0], &byte, 1));
      ::_exit(0);
    }
    while (!node.driver().drained(to)) node.step();
    signal();
  });
  ASSERT_TRUE(run_until({&parent}, [&] { return parent.last_hello.has_value(); }));
  ASSERT_TRUE(child.wait_for_signal());
  child.kill();
  ASSERT_TRUE(run_until({&parent}, [&] { return !parent.departed.empty(); }));
  EXPECT_EQ(parent.departed[0].departure, Departure::lost);
  ::close(grandchild_pipe[0]);
  ::close(grandchild_pipe[1]);
}

}  // namespace
}  // namespace muster::comm::shm
