#include <atomic>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "tests/integration/collective/ranks.h"

namespace muster::comm {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr int kRanks = 4;

/// So many messages of the algorithm. Who has to wait for long also tells all others what it calls,
/// perhaps several times.
MATCHER_P(AreOfTheAlgorithm, messages, "") {
  return arg >= messages && (arg - messages) % (kRanks - 1) == 0;
}

/// What MUSTER_COLLECTIVES makes a group by messages do.
class Choice : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("MUSTER_COLLECTIVES"); }

  /// How many messages each of four ranks sends in an allreduce of eight numbers.
  std::vector<int> messages_under(const std::string& value) {
    ::setenv("MUSTER_COLLECTIVES", value.c_str(), 1);
    std::vector<int> sent(kRanks);
    as_threads(kRanks, [&](int rank) {
      std::atomic<int> steps = 0;
      GroupOptions options = meeting_.options(kRanks, rank);
      options.plane = Plane::network;
      options.at_step = [&] { ++steps; };
      Group group = join_or_throw(options);
      std::vector<int> values(8, rank);
      steps = 0;
      require(group.allreduce(values));
      sent[static_cast<std::size_t>(rank)] = steps - 1;  // the call itself is one
      EXPECT_THAT(values, Each(6));
      require(group.barrier());
    });
    return sent;
  }

  Meeting meeting_;
};

TEST_F(Choice, OfAVariableIsObeyedByAGroup) {
  EXPECT_THAT(messages_under("allreduce:*:recursive_doubling"),
              Each(AreOfTheAlgorithm(2)));                                      // log n
  EXPECT_THAT(messages_under("allreduce:*:ring"), Each(AreOfTheAlgorithm(6)));  // 2 (n - 1)
  EXPECT_THAT(messages_under("allreduce:*:recursive_doubling,allreduce:32-:ring"),
              Each(AreOfTheAlgorithm(6)));
  EXPECT_THAT(messages_under("allreduce:*:recursive_doubling,allreduce:33-:ring"),
              Each(AreOfTheAlgorithm(2)));
}

TEST_F(Choice, OfAFileIsObeyedByAGroup) {
  const test::TempDir folder;
  const std::string path = (folder.path() / "choices").string();
  std::ofstream(path) << "# as few bytes as there can be\nallreduce:*:ring\n";
  EXPECT_THAT(messages_under("@" + path), Each(AreOfTheAlgorithm(6)));
}

TEST_F(Choice, ThatIsWrongIsToldToWhoJoins) {
  ::setenv("MUSTER_COLLECTIVES", "allreduce:*:rings", 1);
  as_threads(2, [&](int rank) {
    const auto group = Group::join(meeting_.options(2, rank));
    ASSERT_FALSE(group);
    EXPECT_THAT(group.error().message(), HasSubstr("MUSTER_COLLECTIVES: at position 13"));
    EXPECT_THAT(group.error().message(), HasSubstr("perhaps 'ring' is meant"));
  });
}

/// What it makes a group in shared memory do.
class ChoiceOnHost : public testing::Test {
 protected:
  void TearDown() override {
    ::unsetenv("MUSTER_COLLECTIVES");
    ::unsetenv("MUSTER_LEND");
  }

  /// In how many steps the root of two ranks gives 256 KiB.
  int steps_under(const std::string& value) {
    ::setenv("MUSTER_COLLECTIVES", value.c_str(), 1);
    int given = 0;
    as_threads(2, [&](int rank) {
      int steps = 0;
      GroupOptions options = meeting_.options(2, rank);
      options.plane = Plane::shared;
      // Other threads of the group send messages meanwhile.
      options.at_step = [&steps, caller = std::this_thread::get_id()] {
        if (std::this_thread::get_id() == caller) ++steps;
      };
      Group group = join_or_throw(options);
      std::vector<int> values((std::size_t{256} << 10) / sizeof(int), 7 - rank);
      require(group.barrier());
      steps = 0;
      require(group.broadcast(values, 0));
      if (rank == 0) given = steps;
      EXPECT_THAT(values, Each(7));
    });
    return given;
  }

  Meeting meeting_;
};

TEST_F(ChoiceOnHost, IsObeyedByAGroup) {
  EXPECT_EQ(steps_under("broadcast/host:16k-:lend"), 1);
  EXPECT_EQ(steps_under("broadcast/host:16k-:stage"), 8);  // of 32 KiB
  EXPECT_EQ(steps_under("broadcast/host:16k-:lend,broadcast/host:256k-:stream"), 8);
  EXPECT_EQ(steps_under("broadcast/host:16k-256k:stream,broadcast/host:256k-:lend"), 1);
}

TEST_F(ChoiceOnHost, ToLendIsToStageWhereARankDoesNotWantTo) {
  ::setenv("MUSTER_LEND", "0", 1);
  EXPECT_EQ(steps_under("broadcast/host:16k-:lend"), 8);
}

}  // namespace
}  // namespace muster::comm
