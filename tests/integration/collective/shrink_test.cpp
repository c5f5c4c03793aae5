#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "muster/comm/errc.h"
#include "tests/integration/collective/processes.h"
#include "tests/integration/collective/ranks.h"

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

}  // namespace
}  // namespace muster::comm
