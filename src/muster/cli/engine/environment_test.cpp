#include "muster/cli/engine/environment.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Variables = std::map<std::string, std::string>;

Result<RoleEnvironment> read(Variables variables) {
  return read_environment([=](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

constexpr const char* kDetail =
    R"({"cluster":{"scheduler":["j-scheduler-0.ns.svc:11111","j-scheduler-1.ns.svc:11111"],
        "webservice":["j-webservice-0.ns.svc:11111"]},
        "task":{"type":"worker","index":0,"resources":{"cpu_procs":2,"phy_mem":2147483648}}})";

TEST(RoleEnvironment, IsEmptyByDefault) {
  const auto environment = read({}).value();
  EXPECT_EQ(environment.host, "");
  EXPECT_EQ(environment.port, 0);
  EXPECT_EQ(environment.schedulers, "");
  EXPECT_EQ(environment.cache, CacheSize{});
  EXPECT_THAT(environment.spill_dirs, IsEmpty());
  EXPECT_FALSE(environment.lock_free_io);
}

TEST(RoleEnvironment, ReadsWhatAMarsJobSets) {
  const auto environment = read({{"MARS_CPU_TOTAL", "8"},
                                 {"MARS_MEMORY_TOTAL", "34359738368"},
                                 {"MARS_CPU_USE_PROCESS_STAT", "1"},
                                 {"MARS_MEM_USE_CGROUP_STAT", "1"},
                                 {"MARS_BIND_PORT", "11111"},
                                 {"MARS_CONTAINER_IP", "10.0.0.7"},
                                 {"MARS_K8S_POD_NAME", "j-worker-0"},
                                 {"MARS_CLUSTER_DETAIL", kDetail},
                                 {"MARS_SPILL_DIRS", "/a,/b"},
                                 {"MARS_PLASMA_DIRS", "/dev/shm"},
                                 {"MARS_LOCK_FREE_FILEIO", "1"},
                                 {"MARS_CACHE_MEM_SIZE", "1073741824"}})
                               .value();
  EXPECT_EQ(environment.host, "10.0.0.7");
  EXPECT_EQ(environment.port, 11111);
  EXPECT_EQ(environment.schedulers, "j-scheduler-0.ns.svc:11111,j-scheduler-1.ns.svc:11111");
  EXPECT_EQ(environment.name, "j-worker-0");
  EXPECT_EQ(environment.cpus, 8u);
  EXPECT_EQ(environment.memory, 32ull << 30);
  EXPECT_EQ(environment.cache, CacheSize{.bytes = 1ull << 30});
  EXPECT_THAT(environment.spill_dirs, ElementsAre("/a", "/b"));
  EXPECT_EQ(environment.plasma_dir, "/dev/shm");
  EXPECT_EQ(environment.lock_free_io, true);
}

TEST(RoleEnvironment, OurSpellingWins) {
  const auto environment =
      read({{"MUSTER_BIND_PORT", "2"}, {"MARS_BIND_PORT", "1"}, {"MUSTER_SPILL_DIRS", "/x:/y"}})
          .value();
  EXPECT_EQ(environment.port, 2);
  EXPECT_THAT(environment.spill_dirs, ElementsAre("/x", "/y"));
}

TEST(RoleEnvironment, TheOtherNamesOfTheDetailAndOfItsSchedulersWorkToo) {
  EXPECT_EQ(read({{"MARS_TASK_DETAIL", R"({"cluster":{"supervisor":["h:1"]}})"}})->schedulers,
            "h:1");
  EXPECT_EQ(read({{"MUSTER_CLUSTER_DETAIL", kDetail}, {"MUSTER_SCHEDULERS", "mine:1"}})->schedulers,
            "mine:1");
  EXPECT_EQ(read({{"MARS_K8S_SERVICE_NAME", "marsservice"}, {"MARS_K8S_SERVICE_PORT", "7103"}})
                ->schedulers,
            "marsservice:7103");
}

TEST(RoleEnvironment, ResourcesOfTheDetailStandInForTheTotals) {
  const auto environment = read({{"MARS_CLUSTER_DETAIL", kDetail}}).value();
  EXPECT_EQ(environment.cpus, 2u);
  EXPECT_EQ(environment.memory, 2ull << 30);
}

TEST(RoleEnvironment, AnExactCacheSizeWinsOverThePercentage) {
  EXPECT_EQ(read({{"MUSTER_CACHE_MEM_PERCENTAGE", "45"}})->cache, CacheSize{.percentage = 45});
  EXPECT_EQ(read({{"MUSTER_CACHE_MEM_PERCENTAGE", "45"}, {"MARS_CACHE_MEM_SIZE", "2g"}})->cache,
            CacheSize{.bytes = 2ull << 30});
  EXPECT_EQ(read({{"MARS_CACHE_MEM_SIZE", "12.5%"}})->cache, CacheSize{.percentage = 12.5});
}

TEST(RoleEnvironment, NamesAVariableThatIsWrong) {
  const Variables wrong{{"MARS_BIND_PORT", "65536"},
                        {"MUSTER_CPU_TOTAL", "many"},
                        {"MARS_MEMORY_TOTAL", "-1"},
                        {"MARS_CACHE_MEM_SIZE", "0"},
                        {"MARS_CACHE_MEM_SIZE", "nan%"},
                        {"MARS_CACHE_MEM_PERCENTAGE", "-5"},
                        {"MARS_LOCK_FREE_FILEIO", "maybe"},
                        {"MARS_CLUSTER_DETAIL", "{"},
                        {"MARS_TASK_DETAIL", R"({"cluster":{"scheduler":"h:1"}})"}};
  for (const auto& [name, value] : wrong) {
    const auto environment = read({{name, value}});
    ASSERT_FALSE(environment.has_value()) << name;
    EXPECT_THAT(environment.error().message(), AllOf(HasSubstr(name), HasSubstr(value)));
  }
}

TEST(RoleEnvironment, SplitsFoldersAtBothSigns) {
  EXPECT_THAT(parse_folders("/a,/b:/c,,:"), ElementsAre("/a", "/b", "/c"));
  EXPECT_THAT(parse_folders(""), IsEmpty());
}

}  // namespace
}  // namespace muster::cli
