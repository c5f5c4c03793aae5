#include "muster/runtime/output_queue.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/runtime/fd.h"
#include "tests/support/temp_dir.h"

namespace muster {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    in = FileDescriptor(ends[0]);
    out = FileDescriptor(ends[1]);
  }
  std::string read(std::size_t most) const {
    std::string text(most, '\0');
    const ssize_t count = ::read(in.get(), text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
  }

  FileDescriptor in;
  FileDescriptor out;
};

// Of so many bytes, and no two lines are the same.
std::string numbered(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += std::to_string(i) + "\n";
  text.resize(bytes);
  return text;
}

TEST(OutputQueue, WritesAtOnceWhatGoes) {
  const Pipe pipe;
  OutputQueue queue(pipe.out.get());
  queue.add("one ");
  queue.add("two");
  queue.write();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(pipe.read(100), "one two");
}

TEST(OutputQueue, KeepsWhatDoesNotGoAndTheOrder) {
  const Pipe pipe;
  OutputQueue queue(pipe.out.get());
  const std::string text = numbered(3 * OutputQueue::kFull);
  std::string arrived;
  for (std::size_t at = 0; at < text.size(); at += 100'000) {
    queue.add(std::string_view(text).substr(at, 100'000));
    queue.write();
    arrived += pipe.read(10'000);
  }
  EXPECT_TRUE(queue.full());
  while (!queue.empty()) {
    arrived += pipe.read(1'000'000);
    queue.write();
  }
  EXPECT_FALSE(queue.full());
  while (arrived.size() < text.size()) arrived += pipe.read(1'000'000);
  EXPECT_EQ(arrived, text);
}

TEST(OutputQueue, DoesNotWaitForATerminalThatTakesNothing) {
  const FileDescriptor terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_EQ(::grantpt(terminal.get()), 0);
  ASSERT_EQ(::unlockpt(terminal.get()), 0);
  const FileDescriptor out(::open(::ptsname(terminal.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  OutputQueue queue(out.get());
  queue.add(numbered(OutputQueue::kFull));
  queue.write();
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(queue.error_number(), 0);
}

TEST(OutputQueue, WritesToFilesAsWell) {
  const test::TempDir folder;
  const auto path = folder.path() / "out";
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  OutputQueue queue(file.get());
  const std::string text = numbered(200'000);
  queue.add(text);
  queue.write();
  EXPECT_TRUE(queue.empty());
  std::ifstream stream(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), text);
}

TEST(OutputQueue, DoesNotWriteWhereItMayNot) {
  const FileDescriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  OutputQueue queue(input.get());
  queue.add("text");
  queue.write();
  EXPECT_EQ(queue.error_number(), EBADF);
}

TEST(OutputQueue, SaysWhatCannotBeWrittenAndForgetsIt) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  OutputQueue queue(full.get());
  queue.add("text");
  queue.write();
  EXPECT_EQ(queue.error_number(), ENOSPC);
  EXPECT_TRUE(queue.empty());
  queue.add("more");
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace muster
