#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "muster/comm/errc.h"
#include "tests/integration/collective/executioner.h"
#include "tests/integration/collective/processes.h"
#include "tests/integration/collective/ranks.h"
#include "tests/support/child.h"

namespace muster::comm {
namespace {

TEST(Shrink, ThoseThatAreLeftGoOnWhenMostRanksLeft) {
  const Meeting meeting;
  as_processes(4, [&](int rank) {
    // Each on a host of its own, as far as the group can see.
    ::setenv("MUSTER_HOST_ID", fmt::format("host{}", rank).c_str(), 1);
    GroupOptions mine = meeting.options(4, rank);
    mine.driver = "zmq";
    mine.driver_options["zmq.advertise"] = "localhost";  // 127.0.0.1 would be taken for another's
    Group group = join_or_throw(mine);
    demand(group.barrier(), "first barrier");
    if (rank < 3) return;  // it leaves
    const auto result = group.barrier({.timeout = std::chrono::seconds(30)});
    demand(!result && result.error().is(Errc::rank_lost), "nobody is missed");
    auto shrunk = demand(group.shrink(std::chrono::seconds(30)), "shrink");
    demand(shrunk.group.size() == 1, "somebody is still there");
    demand(shrunk.lost == std::vector<int>{0, 1, 2}, "others are lost");
  });
}

std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Shrink, AllLearnThatOneCannotTakePartInASmallerGroupAndMayTryAgain) {
  const Meeting meeting;
  as_processes(3, [&](int rank) {
    GroupOptions mine = meeting.options(3, rank);
    mine.plane = Plane::shared;
    Group group = join_or_throw(mine);
    demand(group.barrier(), "first barrier");
    rlimit memory{};
    ::getrlimit(RLIMIT_AS, &memory);
    const rlimit little{mapped_bytes() + (std::size_t{32} << 20), memory.rlim_max};
    if (rank == 1) ::setrlimit(RLIMIT_AS, &little);  // less than a segment takes
    const auto shrunk = group.shrink(std::chrono::seconds(30));
    demand(!shrunk, "shrink");
    demand(!shrunk.error().is(Errc::timeout), "it takes too long");
    if (rank != 1)
      demand(shrunk.error().message().find("rank 1 could not make") != std::string::npos,
             "the error does not name the rank: " + shrunk.error().message());
    ::setrlimit(RLIMIT_AS, &memory);
    auto again = demand(group.shrink(std::chrono::seconds(30)), "shrink again");
    demand(again.group.size() == 3, "somebody is missing");
    demand(again.group.barrier(), "barrier");
  });
}

class ShrinkOn : public OnPlanes {};

TEST_P(ShrinkOn, CountsWhatThoseHaveFinishedThatAreLeft) {
  const auto run = [&](int rank) {
    GroupOptions mine = options(3, rank);
    // Between the first vote and the second.
    Executioner executioner({.step = 2});
    if (rank == 2) mine.at_step = [&] { executioner.at_step(); };
    Group group = join_or_throw(mine);
    demand(group.barrier(), "barrier");
    std::vector<int> items(4);
    if (rank < 2) demand(group.broadcast(items, 0), "broadcast");
    executioner.in_danger = true;
    const auto shrunk = demand(group.shrink(std::chrono::seconds(30)), "shrink");
    demand(shrunk.lost == std::vector{2}, "others are lost");
    demand(shrunk.finished == 2, fmt::format("{} calls are finished", shrunk.finished));
    demand(shrunk.last == "broadcast of 4 int32 from rank 0", "the last is " + shrunk.last);
  };
  std::vector<std::unique_ptr<test::Child>> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.push_back(std::make_unique<test::Child>([&, rank] { as_process([&] { run(rank); }); }));
  EXPECT_EQ(ranks[2]->wait(), -SIGKILL);
  EXPECT_EQ(ranks[1]->wait(), 0);
  EXPECT_EQ(ranks[0]->wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Planes, ShrinkOn, testing::ValuesIn(kCases),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::comm
