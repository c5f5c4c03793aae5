#include "muster/runtime/child_process.h"

#include <array>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/base/clock.h"
#include "muster/runtime/poll.h"

namespace muster {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

ExitStatus end_of(ChildProcess& child) {
  std::array slots{pollfd{.fd = child.fd(), .events = POLLIN, .revents = 0}};
  const TimePoint deadline = SteadyClock().now() + seconds(10);
  while (SteadyClock().now() < deadline) {
    if (const auto status = child.try_wait()) return *status;
    (void)poll_until(slots, deadline);
  }
  child.signal(SIGKILL);
  return {.code = -1};
}

struct Pipe {
  Pipe() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    in = FileDescriptor(fds[0]);
    out = FileDescriptor(fds[1]);
  }
  std::string read_all() {
    out.reset();
    std::string text;
    std::array<char, 512> piece{};
    for (ssize_t count = 0; (count = ::read(in.get(), piece.data(), piece.size())) > 0;)
      text.append(piece.data(), static_cast<std::size_t>(count));
    return text;
  }
  FileDescriptor in;
  FileDescriptor out;
};

std::string output_of(SpawnOptions options) {
  Pipe pipe;
  options.files.emplace_back(STDOUT_FILENO, pipe.out.get());
  auto child = ChildProcess::spawn(options);
  EXPECT_TRUE(child) << child.error().message();
  std::string text = pipe.read_all();
  EXPECT_TRUE(end_of(*child).success());
  return text;
}

TEST(ChildProcess, TellsTheExitCode) {
  auto child = ChildProcess::spawn({.program = "/bin/sh", .arguments = {"-c", "exit 7"}});
  ASSERT_TRUE(child);
  EXPECT_EQ(end_of(*child), ExitStatus{.code = 7});
}

TEST(ChildProcess, TellsTheSignalThatEndedIt) {
  auto child = ChildProcess::spawn({.program = "/bin/sleep", .arguments = {"60"}});
  ASSERT_TRUE(child);
  EXPECT_FALSE(child->try_wait());
  child->signal(SIGKILL);
  const ExitStatus status = end_of(*child);
  EXPECT_EQ(status, ExitStatus{.signal = SIGKILL});
  EXPECT_EQ(status.shell_code(), 137);
  EXPECT_EQ(status.description(), "signal 9 (SIGKILL)");
}

class Unwaited : public testing::Test {
 protected:
  void TearDown() override { ::signal(SIGCHLD, before_); }

  const sighandler_t before_ = ::signal(SIGCHLD, SIG_IGN);
};

// Many of them, because some are gone before they can be watched.
TEST_F(Unwaited, ChildrenEndAlsoWhereNobodyIsToldHow) {
  for (int i = 0; i < 100; ++i) {
    auto child = ChildProcess::spawn({.program = "/bin/true"});
    ASSERT_TRUE(child) << child.error().message();
    pollfd slot{.fd = child->fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&slot, 1, 10'000), 1);
    ASSERT_EQ(end_of(*child), ExitStatus{.code = ChildProcess::kUnknownCode});
  }
}

TEST(ChildProcess, SaysWhyAProgramCannotBeStarted) {
  const auto child = ChildProcess::spawn({.program = "/nowhere/program"});
  ASSERT_FALSE(child);
  EXPECT_THAT(child.error().message(), HasSubstr("/nowhere/program"));
  EXPECT_THAT(child.error().message(), HasSubstr("No such file"));
}

TEST(ChildProcess, GetsArgumentsAsTheyAre) {
  EXPECT_EQ(output_of({.program = "/usr/bin/printf", .arguments = {"%s|", "a b", "$HOME", ""}}),
            "a b|$HOME||");
}

TEST(ChildProcess, HasTheEnvironmentAndFolderItIsGiven) {
  EXPECT_EQ(output_of({.program = "/bin/sh",
                       .arguments = {"-c", "echo $COLOUR; pwd"},
                       .environment = {{"COLOUR=blue"}},
                       .working_dir = "/usr"}),
            "blue\n/usr\n");
}

TEST(ChildProcess, InheritsNoDescriptorsButThoseNamed) {
  Pipe secret;
  const int open = ::fcntl(secret.in.get(), F_DUPFD, 40);  // without close-on-exec
  ASSERT_GE(open, 40);
  const std::string listed = output_of({.program = "/bin/ls", .arguments = {"/proc/self/fd"}});
  ::close(open);
  EXPECT_EQ(listed, "0\n1\n2\n3\n");  // 3 is ls reading the folder
}

TEST(ChildProcess, PlacesDescriptorsThatWouldOverwriteEachOther) {
  Pipe first;
  Pipe second;
  // The child's descriptors are ours the other way round.
  auto child = ChildProcess::spawn(
      {.program = "/bin/bash",
       .arguments = {"-c", "eval \"echo a >&$1; echo b >&$2\"", "sh",
                     std::to_string(first.out.get()), std::to_string(second.out.get())},
       .files = {{first.out.get(), second.out.get()}, {second.out.get(), first.out.get()}}});
  ASSERT_TRUE(child);
  EXPECT_EQ(second.read_all(), "a\n");
  EXPECT_EQ(first.read_all(), "b\n");
  EXPECT_TRUE(end_of(*child).success());
}

TEST(ChildProcess, LeadsAGroupOfItsOwnWithDefaultSignals) {
  ::signal(SIGUSR1, SIG_IGN);
  auto child = ChildProcess::spawn({.program = "/bin/sleep", .arguments = {"60"}});
  ::signal(SIGUSR1, SIG_DFL);
  ASSERT_TRUE(child);
  EXPECT_EQ(::getpgid(child->pid()), child->pid());
  EXPECT_EQ(::getsid(child->pid()), ::getsid(0));
  child->signal(SIGUSR1);
  EXPECT_EQ(end_of(*child), ExitStatus{.signal = SIGUSR1});
}

TEST(ChildProcess, LeadsASessionWhenAsked) {
  auto child =
      ChildProcess::spawn({.program = "/bin/sleep", .arguments = {"60"}, .new_session = true});
  ASSERT_TRUE(child);
  EXPECT_EQ(::getsid(child->pid()), child->pid());
  child->signal(SIGTERM);
  EXPECT_EQ(end_of(*child), ExitStatus{.signal = SIGTERM});
}

}  // namespace
}  // namespace muster
