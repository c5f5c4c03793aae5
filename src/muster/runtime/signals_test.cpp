#include "muster/runtime/signals.h"

#include <poll.h>
#include <semaphore>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace muster {
namespace {

bool blocked(int number) {
  sigset_t mask;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return ::sigismember(&mask, number) == 1;
}

TEST(SignalReader, GivesSignalsToRead) {
  const auto reader = SignalReader::open({SIGUSR1, SIGUSR2});
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->take());
  ::raise(SIGUSR2);
  EXPECT_EQ(reader->take(), SIGUSR2);
  EXPECT_FALSE(reader->take());
}

TEST(SignalReader, IsOpenedForWhatThisProcessDoesNotIgnore) {
  const auto before = ::signal(SIGUSR1, SIG_IGN);
  EXPECT_EQ(not_ignored({SIGUSR1, SIGUSR2}), std::vector{SIGUSR2});
  ::signal(SIGUSR1, before);
  EXPECT_EQ(not_ignored({SIGUSR1, SIGUSR2}), (std::vector{SIGUSR1, SIGUSR2}));
}

TEST(SignalReader, ReadsWhatThreadsGetThatWereThereBefore) {
  std::binary_semaphore done(0);
  std::thread other([&] { done.acquire(); });
  const auto reader = SignalReader::open({SIGUSR1});
  ASSERT_TRUE(reader);
  for (int times = 0; times < 3; ++times) {
    // To the process the first time: only the other thread does not block it.
    if (times == 0)
      ::kill(::getpid(), SIGUSR1);
    else
      ::pthread_kill(::pthread_self(), SIGUSR1);
    pollfd waits{reader->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&waits, 1, 10'000), 1);
    EXPECT_EQ(reader->take(), SIGUSR1);
  }
  done.release();
  other.join();
}

TEST(SignalReader, LeavesTheMaskAsItWas) {
  {
    auto reader = SignalReader::open({SIGUSR1});
    ASSERT_TRUE(reader);
    const SignalReader moved = std::move(*reader);
    EXPECT_TRUE(blocked(SIGUSR1));
    ::raise(SIGUSR1);  // would end the test if it were delivered later
  }
  EXPECT_FALSE(blocked(SIGUSR1));
}

}  // namespace
}  // namespace muster
