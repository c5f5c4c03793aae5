// How libucx behaves in somebody else's process.

#include <array>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <signal.h>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/comm/driver/ucx/load.h"
#include "tests/integration/ucx/ucx_end.h"
#include "tests/support/station.h"

namespace muster::comm {
namespace {

using Handlers = std::map<int, void*>;

Handlers handlers() {
  Handlers result;
  for (int number = 1; number < SIGRTMIN; ++number) {
    struct sigaction action{};
    if (::sigaction(number, nullptr, &action) == 0)
      result[number] = reinterpret_cast<void*>(action.sa_handler);
  }
  return result;
}

std::array<unsigned char, 16> code_of(void* function) {
  std::array<unsigned char, 16> bytes{};
  std::memcpy(bytes.data(), function, bytes.size());
  return bytes;
}

std::vector<std::string> variables() {
  std::vector<std::string> result;
  for (char** one = environ; *one != nullptr; ++one) result.emplace_back(*one);
  return result;
}

// Before anything has loaded libucx.
const Handlers kHandlersBefore = handlers();
void* const kUnmap = ::dlsym(RTLD_DEFAULT, "munmap");
const auto kUnmapBefore = code_of(kUnmap);
const auto kVariablesBefore = variables();

/// Local addresses, in hexadecimal, at which this process listens.
std::set<std::string> listening() {
  std::set<std::string> ours;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (target.starts_with("socket:[")) ours.insert(target.substr(8, target.size() - 9));
  }
  std::set<std::string> result;
  for (const char* const table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
      if (fields.size() > 9 && fields[3] == "0A" && ours.contains(fields[9]))
        result.insert(fields[1].substr(0, fields[1].find(':')));
    }
  }
  return result;
}

TEST(UcxGuest, LeavesSignalsMemoryFunctionsAndEnvironmentAlone) {
  UcxEnd a("a");
  UcxEnd b("b");
  ASSERT_TRUE(a.transport->connect(PeerId(1), b.self).has_value());
  ASSERT_TRUE(until([&] {
    b.step(PeerId(1));
    return a.step(PeerId(1));
  }));
  EXPECT_EQ(handlers(), kHandlersBefore);
  EXPECT_EQ(code_of(kUnmap), kUnmapBefore);
  EXPECT_EQ(variables(), kVariablesBefore);
}

TEST(UcxGuest, ListensOnLoopbackOnlyWithoutASecret) {
  const UcxEnd a("a", {}, {.transports = "tcp", .devices = {}});
  EXPECT_EQ(listening(), std::set<std::string>{"0100007F"});
  EXPECT_TRUE(a.self.addresses.at("ucx").starts_with("ucx://local/"));
}

/// The first file in shared memory that this process maps and that still has its name.
std::string named_memory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("/dev/shm/") != std::string::npos && !line.ends_with("(deleted)")) return line;
  return "";
}

TEST(UcxGuest, LeavesNothingOpenAndNothingInSharedMemory) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  {
    const UcxEnd first("first");
  }  // what libucx keeps for good
  const auto files = open_files();
  for (int i = 0; i < 5; ++i) {
    UcxEnd a("a");
    UcxEnd b("b");
    ASSERT_TRUE(a.transport->connect(PeerId(1), b.self).has_value());
    ASSERT_TRUE(until([&] {
      b.step(PeerId(1));
      return a.step(PeerId(1));
    }));
    EXPECT_EQ(named_memory(), "") << "a killed process would leave it behind";
  }
  EXPECT_EQ(open_files(), files);
}

TEST(UcxGuest, IsNotTakenFromAnotherBuild) {
  const auto open = load_ucx();
  ASSERT_TRUE(open.has_value()) << open.error().message();
  std::array<char, 200> why{};
  EXPECT_EQ((*open)(kUcxPortVersion + 1, nullptr, 0, nullptr, why.data(), why.size()), nullptr);
  EXPECT_NE(std::string(why.data()).find("different builds"), std::string::npos) << why.data();
}

TEST(UcxGuest, SaysWhatIsWrongWithItsOptions) {
  const auto message = [](const DriverOptionTexts& options) -> std::string {
    try {
      const Station station("a", {.driver = "ucx", .options = options});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({{"ucx.transports", "pigeon"}}).find("ucx_info -d"), std::string::npos);
  EXPECT_NE(message({{"ucx.device", "lo"}}).find("did you mean 'ucx.devices'"), std::string::npos);
  EXPECT_NE(message({{"ucx.devices", "eth0"}}).find("MUSTER_SECRET"), std::string::npos);
}

}  // namespace
}  // namespace muster::comm
