#include "muster/runtime/doorbell.h"

#include <fcntl.h>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TimePoint in(Duration duration) { return SteadyClock().now() + duration; }

TEST(Doorbell, WakesASleeperOnTheWord) {
  auto bell = *Doorbell::create();
  std::atomic<bool> work{false};
  std::jthread ringer([&] {
    work = true;
    bell->ring();
  });
  bell->prepare(Doorbell::Sleep::on_word);
  while (!work) bell->sleep(in(seconds(10)));
  bell->awake();
}

TEST(Doorbell, WakesASleeperOnTheDescriptor) {
  auto bell = *Doorbell::create();
  bell->prepare(Doorbell::Sleep::on_fd);
  bell->ring();
  pollfd slot{bell->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&slot, 1, 10'000), 1);
  bell->awake();
  EXPECT_EQ(::poll(&slot, 1, 0), 0);
}

TEST(Doorbell, SendsNothingToAReceiverThatIsAwake) {
  auto bell = *Doorbell::create();
  bell->ring();
  pollfd slot{bell->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&slot, 1, 0), 0);
}

TEST(Doorbell, IsRungThroughItsPageFromElsewhere) {
  auto bell = *Doorbell::create();
  auto remote = RemoteDoorbell::open(FileDescriptor(::dup(bell->page_fd())), bell->socket_name());
  ASSERT_TRUE(remote.has_value());
  bell->prepare(Doorbell::Sleep::on_fd);
  remote->ring();
  pollfd slot{bell->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&slot, 1, 10'000), 1);
}

TEST(Doorbell, StopsSleepingAtTheDeadline) {
  auto bell = *Doorbell::create();
  bell->prepare(Doorbell::Sleep::on_word);
  const TimePoint until = in(milliseconds(5));
  while (SteadyClock().now() < until) bell->sleep(until);
  bell->awake();
}

}  // namespace
}  // namespace muster
