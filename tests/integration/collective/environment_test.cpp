#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "tests/integration/collective/demand.h"
#include "tests/integration/collective/processes.h"
#include "tests/integration/collective/ranks.h"
#include "tests/support/redis_server.h"
#include "tests/support/temp_dir.h"

namespace muster::comm {
namespace {

TEST(FromEnvironment, RanksMeetInTheStoreThatTheLauncherNames) {
  const test::TempDir folder;
  const test::RedisServer redis;
  const std::array stores{"file:" + folder.path().string() + "/store",
                          redis.address().description()};
  const Meeting elsewhere;
  // In one store there would be two of each rank.
  as_processes(4, [&](int process) {
    const int store = process / 2;
    ::setenv("MUSTER_DISCOVERY", stores[static_cast<std::size_t>(store)].c_str(), 1);
    ::setenv("MUSTER_GROUP", "of one name", 1);
    ::setenv("MUSTER_SIZE", "2", 1);
    ::setenv("MUSTER_RANK", std::to_string(process % 2).c_str(), 1);
    Group group = demand(Group::from_environment(elsewhere.options(7, 3)), "from_environment");
    std::vector<int> sum{process};
    demand(group.allreduce(sum, {}, {.timeout = std::chrono::seconds(30)}), "allreduce");
    demand(sum[0] == (store == 0 ? 0 + 1 : 2 + 3), "others are in the group");
  });
}

}  // namespace
}  // namespace muster::comm
