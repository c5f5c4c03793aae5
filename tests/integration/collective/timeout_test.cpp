#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "muster/comm/errc.h"
#include "tests/integration/collective/ranks.h"

// The timeout of calls that were started and are carried on in the background.

namespace muster::comm {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr Duration kShort = std::chrono::milliseconds(50);
constexpr Duration kSoon = std::chrono::seconds(30);

class TimeoutOn : public OnPlanes {};

void expect_overdue(Handle& handle, const char* what) {
  const auto result = handle.wait(kSoon);
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().is(Errc::timeout)) << result.error().message();
  EXPECT_THAT(result.error().message(), HasSubstr(what));
  const auto over = handle.test();
  ASSERT_FALSE(over) << "it goes on";
  EXPECT_EQ(over.error().message(), result.error().message());
}

TEST_P(TimeoutOn, ATimeoutBelowZeroHasPassed) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    std::vector<int> data(4);
    for (const Duration past : {Duration(-1), -kSoon, Duration::min()}) {
      const auto received = group.recv(1 - rank, data, {.timeout = past});
      ASSERT_FALSE(received);
      EXPECT_TRUE(received.error().is(Errc::timeout)) << received.error().message();
      Handle handle = group.irecv(1 - rank, data, {.tag = 1}).value();
      const auto waited = handle.wait(past);
      ASSERT_FALSE(waited);
      EXPECT_TRUE(waited.error().is(Errc::timeout)) << waited.error().message();
    }
    Group part = group.split(0).value();
    const auto met = rank == 0 ? part.barrier({.timeout = -kSoon}) : Result<void>();
    EXPECT_TRUE(rank == 1 || met.error().is(Errc::timeout));
    require(group.barrier({.timeout = kSoon}));  // nobody leaves before
  });
}

TEST_P(TimeoutOn, ACallThatNobodyWaitsForIsGivenUpWhenItIsOverdue) {
  for (const int tag : {0, kTagWithoutChannel}) {
    std::promise<void> told;
    as_threads(2, [&](int rank) {
      Group group = join_or_throw(options(2, rank));
      use_up_channels(group);
      std::vector<int> data(4);
      if (rank == 1) {
        const auto result = group.recv(0, data, {.timeout = kSoon});
        told.set_value();
        ASSERT_FALSE(result);
        EXPECT_TRUE(result.error().is(Errc::cancelled)) << result.error().message();
        EXPECT_THAT(result.error().message(), HasSubstr("rank 0"));
        EXPECT_THAT(result.error().message(), HasSubstr("gave up allreduce of 4 int32"));
        return require(group.agree(1, kSoon));
      }
      auto handle = group.iallreduce(data, {}, {.tag = tag, .timeout = kShort});
      ASSERT_TRUE(handle) << handle.error().message();
      told.get_future().wait_for(kSoon);
      expect_overdue(*handle, "allreduce of 4 int32");
      const auto next = group.barrier({.timeout = kSoon});
      ASSERT_FALSE(next);
      EXPECT_TRUE(next.error().is(Errc::cancelled)) << next.error().message();
      require(group.agree(1, kSoon));
    });
  }
}

TEST_P(TimeoutOn, ACallIsGivenUpAlsoWhileItWaitsForItsTurn) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    if (rank == 0) {
      auto first = group.ibarrier();
      auto second = group.ibarrier({.timeout = kShort});
      ASSERT_TRUE(first && second);
      expect_overdue(*second, "barrier");
      EXPECT_TRUE(first->wait(kSoon).error().is(Errc::cancelled));
    }
    require(group.agree(1, kSoon));
  });
}

TEST_P(TimeoutOn, ACallIsGivenUpAlsoWhileAnotherThreadWaitsForTheOneBefore) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    if (rank == 0) {
      std::thread other([&] {
        const auto result = group.barrier({.timeout = kSoon});
        ASSERT_FALSE(result);
        EXPECT_TRUE(result.error().is(Errc::cancelled)) << result.error().message();
      });
      std::this_thread::sleep_for(kShort);  // mostly it waits by now
      auto handle = group.ibarrier({.timeout = kShort});
      if (handle) expect_overdue(*handle, "barrier");
      EXPECT_TRUE(handle);
      other.join();
    }
    require(group.agree(1, kSoon));
  });
}

TEST_P(TimeoutOn, AReceiveThatIsOverdueDoesNoHarm) {
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    std::vector<int> data(4);
    if (rank == 0) {
      auto handle = group.irecv(1, data, {.tag = 9, .timeout = kShort});
      ASSERT_TRUE(handle) << handle.error().message();
      expect_overdue(*handle, "receiving 16 bytes from rank 1");
      EXPECT_TRUE(group.recv(1, data, {.tag = 9, .timeout = kShort}).error().is(Errc::timeout));
    }
    require(group.barrier({.timeout = kSoon}));
    for (const int value : {7, 8}) {
      if (rank == 1) require(group.send(0, std::vector<int>(4, value), {.tag = 9}));
      if (rank == 0) require(group.recv(1, data, {.tag = 9, .timeout = kSoon}));
      EXPECT_THAT(data, Each(rank == 0 ? value : 0));
    }
    require(group.barrier({.timeout = kSoon}));
  });
}

TEST_P(TimeoutOn, OfWaitingSaysForWhomTheCallWaitsAndTheCallGoesOn) {
  for (const int tag : {0, kTagWithoutChannel}) {
    as_threads(2, [&](int rank) {
      Group group = join_or_throw(options(2, rank));
      use_up_channels(group);
      if (rank == 0) {
        auto handle = group.ibarrier({.tag = tag});
        ASSERT_TRUE(handle) << handle.error().message();
        // In memory it is not known while the background thread looks after the call.
        std::string said;
        for (int i = 0; i < 100 && said.find("rank 1") == std::string::npos; ++i) {
          const auto result = handle->wait(kShort);
          ASSERT_FALSE(result);
          ASSERT_TRUE(result.error().is(Errc::timeout)) << result.error().message();
          said = result.error().message();
        }
        EXPECT_THAT(said, HasSubstr("barrier is not over after 0.1 s: it waits for rank 1"));
        require(group.agree(1, kSoon));
        require(handle->wait(kSoon));
      } else {
        require(group.agree(1, kSoon));
        require(group.barrier({.tag = tag, .timeout = kSoon}));
      }
    });
  }
}

TEST_P(TimeoutOn, OfACallThatIsOverDoesNothing) {
  constexpr Duration kTimeout = std::chrono::milliseconds(300);
  as_threads(2, [&](int rank) {
    Group group = join_or_throw(options(2, rank));
    std::vector<int> data(4, rank);
    if (rank == 0) {
      // The root is done as soon as it has started, however busy the machine is.
      auto handle = group.ibroadcast(data, 0, {.timeout = kTimeout});
      ASSERT_TRUE(handle) << handle.error().message();
      require(handle->wait(kSoon));
      std::this_thread::sleep_for(kTimeout + kShort);
      EXPECT_TRUE(handle->test().value());
    } else {
      require(group.broadcast(data, 0, {.timeout = kSoon}));
    }
    require(group.barrier({.timeout = kSoon}));
  });
}

TEST(Timeout, OfMakingAGroupInMemoryNamesWhoDidNotCome) {
  const Meeting meeting;
  as_threads(3, [&](int rank) {
    GroupOptions given = meeting.options(3, rank);
    given.plane = Plane::shared;
    Group group = join_or_throw(std::move(given));
    require(group.barrier({.timeout = kSoon}));
    if (rank == 1) {
      // What `split` begins with, and nothing more.
      std::vector<int> all(6);
      require(group.allgather(std::vector{0, 0}, all, {.timeout = kSoon}));
    } else {
      const auto part = group.split(0, 0, {.timeout = std::chrono::seconds(2)});
      EXPECT_FALSE(part);
      if (!part) {
        EXPECT_THAT(part.error().message(),
                    HasSubstr("1 of group 'test/0' did not share memory in time"));
      }
    }
    require(group.barrier({.timeout = kSoon}));
  });
}

TEST_P(TimeoutOn, MayBeForEver) {
  constexpr Duration kForEver = Duration::max();
  as_threads(2, [&](int rank) {
    GroupOptions patient = options(2, rank);
    patient.join_timeout = patient.lease = kForEver;
    Group group = join_or_throw(std::move(patient));
    // The other one comes later, mostly.
    if (rank == 1) std::this_thread::sleep_for(kShort);
    for (const int tag : {0, kTagWithoutChannel}) {
      require(group.barrier({.tag = tag, .timeout = kForEver}));
      auto handle = group.ibarrier({.tag = tag, .timeout = kForEver});
      require(handle);
      require(handle->wait(kForEver));
    }
    std::vector<int> data(4);
    if (rank == 1) require(group.send(0, data, {.timeout = kForEver}));
    if (rank == 0) require(group.recv(1, data, {.timeout = kForEver}));
    require(group.agree(1, kForEver));
    require(group.split(0, 0, {.timeout = kForEver}));
  });
}

INSTANTIATE_TEST_SUITE_P(Planes, TimeoutOn, kEveryPlane, testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
