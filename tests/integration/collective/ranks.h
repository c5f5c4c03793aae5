#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "muster/comm/collective/group.h"
#include "muster/comm/driver/registry.h"
#include "tests/support/temp_dir.h"

namespace muster::comm {

/// Where the ranks of one test meet.
class Meeting {
 public:
  [[nodiscard]] GroupOptions options(int size, int rank) const {
    GroupOptions options;
    options.name = "test";
    options.size = size;
    options.rank = rank;
    options.discovery = "file:" + folder_.path().string() + "/store";
    options.join_timeout = std::chrono::seconds(40);
    // Whoever is starved of processor time is not lost; what is about losses sets its own.
    options.lease = std::chrono::seconds(15);
    return options;
  }

 private:
  test::TempDir folder_;
};

/// What carries a group in a test.
struct Case {
  Plane plane;
  std::string driver;
};

inline void PrintTo(const Case& test, std::ostream* out) {
  *out << (test.plane == Plane::shared ? "shared_" : "network_") << test.driver;
}

/// All there are on one host.
inline const std::vector<Case> kCases{{Plane::shared, "auto"},
                                      {Plane::network, "shm"},
                                      {Plane::network, "zmq"},
                                      {Plane::network, "ucx"}};

[[nodiscard]] inline bool is_built(std::string_view driver) {
  const auto rows = driver_rows();
  return std::ranges::any_of(
      rows, [&](const DriverRow& row) { return row.name == driver && row.built(); });
}

class OnPlanes : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().driver == "ucx" && !is_built("ucx")) GTEST_SKIP() << "built without libucx";
  }

  GroupOptions options(int size, int rank) const {
    GroupOptions options = meeting_.options(size, rank);
    options.plane = GetParam().plane;
    options.driver = GetParam().driver;
    return options;
  }

  Meeting meeting_;
};

/// For INSTANTIATE_TEST_SUITE_P.
inline const auto kInMemory = testing::Values(Case{Plane::shared, "auto"});
inline const auto kEveryPlane = testing::Values(
    Case{Plane::shared, "auto"}, Case{Plane::network, "auto"}, Case{Plane::network, "shm"},
    Case{Plane::network, "zmq"}, Case{Plane::network, "ucx"});

inline Group join_or_throw(GroupOptions options) {
  auto group = Group::join(std::move(options));
  if (!group) throw std::runtime_error(group.error().message());
  return *std::move(group);
}

template <class T>
void require(const Result<T>& result) {
  if (!result) throw std::runtime_error(result.error().message());
}

/// Tags have a channel in memory until there are none left; calls with this one go by messages
/// after `use_up_channels`.
inline constexpr int kTagWithoutChannel = 200;

inline void use_up_channels(Group& group) {
  constexpr int kTagsWithChannel = 15;
  constexpr Duration kSoon = std::chrono::seconds(30);
  for (int tag = 1; tag <= kTagsWithChannel; ++tag)
    require(group.barrier({.tag = tag, .timeout = kSoon}));
  require(group.agree(1, kSoon));  // all have done so
}

/// Runs a function as every rank, each in a thread of its own; what one throws is thrown again.
inline void as_threads(int size, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::exception_ptr problem;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!problem) problem = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (problem) std::rethrow_exception(problem);
}

}  // namespace muster::comm
