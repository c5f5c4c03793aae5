// A child that is forked while its parent uses UCX gets no thread of UCX.

#include <cstdio>
#include <functional>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/comm/driver/ucx/async_thread.h"
#include "tests/integration/ucx/ucx_end.h"
#include "tests/support/child.h"

namespace muster::comm {
namespace {

bool meet(UcxEnd& a, UcxEnd& b) {
  return a.transport->connect(PeerId(1), b.self) && until([&] {
           b.step(PeerId(1));
           return a.step(PeerId(1));
         });
}

/// Zero when the body returns true in a child.
int status_of(const std::function<bool()>& body) {
  test::Child child([&] {
    bool good = false;
    try {
      good = body();
    } catch (const std::exception& problem) {
      static_cast<void>(std::fputs(problem.what(), stderr));
    }
    ::_exit(good ? 0 : 1);
  });
  return child.wait();
}

TEST(UcxFork, TheThreadThatAcceptsIsThereWhileADriverIs) {
  const UcxEnd end("a");
  EXPECT_TRUE(ucx_thread_runs());
}

TEST(UcxFork, AChildOfAProcessThatUsesUcxSaysThatItIsUnavailable) {
  const UcxEnd parent("parent");
  for (const char* const transports : {"", "tcp", "posix"}) {
    const auto says_why = [&] {
      try {
        const UcxEnd end("child", {}, {.transports = transports, .devices = {}});
      } catch (const std::runtime_error& error) {
        const std::string text = error.what();
        return text.find("forked") != std::string::npos && text.find("spawn") != std::string::npos;
      }
      return false;
    };
    EXPECT_EQ(status_of(says_why), 0) << transports;
  }
}

TEST(UcxFork, AChildOfAProcessThatDoesNotUseUcxNowHasIt) {
  {
    const UcxEnd before("before");
  }
  for (const char* const transports : {"tcp", "posix"}) {
    const auto works = [&] {
      UcxEnd a("a", {}, {.transports = transports, .devices = {}});
      UcxEnd b("b", {}, {.transports = transports, .devices = {}});
      return meet(a, b);
    };
    EXPECT_EQ(status_of(works), 0) << transports;
  }
}

}  // namespace
}  // namespace muster::comm
