#include "muster/cli/doctor/doctor.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "muster/cli/cli_testing.h"
#include "muster/cli/doctor/programs.h"
#include "muster/cli/doctor/system.h"
#include "muster/comm/driver/ucx/load.h"
#include "tests/support/temp_dir.h"

namespace muster::cli {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class Doctor : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, const std::string& text, mode_t mode) {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  test::TempDir folder_;
};

TEST_F(Doctor, GivesAVerdictOnEverythingAndARemedyWhereNeeded) {
  const Outcome outcome = run_with({"doctor", "-o", "json"});
  EXPECT_THAT(outcome.status, AnyOf(kDone, kFailed));
  const auto checks = nlohmann::json::parse(outcome.out);
  EXPECT_GE(checks.size(), 8u);
  for (const auto& check : checks) {
    EXPECT_FALSE(check["finding"].get<std::string>().empty());
    EXPECT_EQ(check["remedy"].get<std::string>().empty(), check["verdict"] == "ok") << check;
  }
}

TEST_F(Doctor, PutsRemediesBelowTheTable) {
  const Outcome outcome = run_with({"doctor"});
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("CHECK"), HasSubstr("/dev/shm")));
}

TEST_F(Doctor, FindsAProgramInThePath) {
  file("redis-server", "#!/bin/sh\n", 0755);
  const std::string path = "/nowhere::" + folder_.path().string();
  EXPECT_EQ(check_redis_server(path).verdict, Verdict::good);
  const Check missing = check_redis_server("/nowhere");
  EXPECT_EQ(missing.verdict, Verdict::bad);
  EXPECT_THAT(missing.remedy, HasSubstr("apt-get install redis-server"));
}

TEST_F(Doctor, AsksTheLoaderOfTheDriverForUcx) {
  const Check check = check_ucx();
  if (!comm::ucx_built()) {
    EXPECT_EQ(check.verdict, Verdict::warning);
  } else if (const auto loaded = comm::load_ucx(); !loaded) {
    EXPECT_EQ(check.finding, loaded.error().message());
  } else {
    EXPECT_EQ(check.verdict, Verdict::good);
    EXPECT_THAT(check.finding, HasSubstr("module"));
  }
}

TEST_F(Doctor, AsksPythonForThePackage) {
  file("python3", "#!/bin/sh\nexit 0\n", 0755);
  EXPECT_EQ(check_python_package(folder_.path().string()).verdict, Verdict::good);
  file("python3", "#!/bin/sh\nexit 1\n", 0755);
  EXPECT_THAT(check_python_package(folder_.path().string()).finding,
              HasSubstr("does not import muster"));
  EXPECT_EQ(check_python_package("").verdict, Verdict::warning);
}

TEST_F(Doctor, SaysThatNoEngineListens) {
  const Check check = check_docker((folder_.path() / "docker.sock").string());
  EXPECT_EQ(check.verdict, Verdict::warning);
  EXPECT_THAT(check.finding, AllOf(HasSubstr("docker.sock"), HasSubstr("No such file")));
  EXPECT_EQ(check_docker(std::string(200, 'x')).verdict, Verdict::warning);
}

TEST_F(Doctor, FindsFilesThatOthersCanRead) {
  const auto folder = folder_.path();
  const auto verdict = [&] { return check_private("x", folder).verdict; };
  const auto open = file("password", "secret", 0640);
  EXPECT_EQ(verdict(), Verdict::good);  // the folder itself is closed
  ::chmod(folder.c_str(), 0755);
  EXPECT_THAT(check_private("x", folder).finding, open.string() + " can be read by others");
  EXPECT_EQ(check_private("x", folder).remedy, "chmod -R go-rwx " + folder.string());
  ::chmod(open.c_str(), 0600);
  EXPECT_EQ(verdict(), Verdict::good);
  EXPECT_EQ(check_private("x", folder / "none").verdict, Verdict::good);
}

TEST_F(Doctor, PassesOverClosedFoldersInside) {
  ::chmod(folder_.path().c_str(), 0755);
  const auto inside = folder_.path() / "inside";
  std::filesystem::create_directory(inside);
  file("inside/key", "secret", 0644);
  ::chmod(inside.c_str(), 0700);
  EXPECT_EQ(check_private("x", folder_.path()).verdict, Verdict::good);
  ::chmod(inside.c_str(), 0711);
  EXPECT_EQ(check_private("x", folder_.path()).verdict, Verdict::bad);
}

TEST_F(Doctor, WantsAFolderForSharedMemory) {
  EXPECT_EQ(check_shared_memory("/nowhere").verdict, Verdict::bad);
  EXPECT_THAT(check_disk("/nowhere").finding, HasSubstr("0 B free"));
}

}  // namespace
}  // namespace muster::cli
