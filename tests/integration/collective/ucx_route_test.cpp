#include <mutex>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/base/log.h"
#include "tests/integration/collective/ranks.h"

// Which of UCX's transports carries a group.

namespace muster::comm {
namespace {

using testing::ElementsAre;

/// What the driver says about its ways, while it is there.
class RouteLog {
 public:
  RouteLog() {
    set_log_level(LogLevel::debug);
    set_log_sink([this](LogLevel, std::string_view, std::string_view text) { take(text); });
  }
  RouteLog(const RouteLog&) = delete;
  RouteLog& operator=(const RouteLog&) = delete;
  ~RouteLog() {
    set_log_sink({});
    set_log_level(LogLevel::warning);
  }

  [[nodiscard]] std::set<std::string> routes() const {
    const std::lock_guard lock(mutex_);
    return routes_;
  }

 private:
  void take(std::string_view text) {
    constexpr std::string_view kSays = "is reached over ucx ";
    const std::size_t at = text.find(kSays);
    if (at == std::string_view::npos) return;
    const std::lock_guard lock(mutex_);
    routes_.insert(std::string(text.substr(at + kSays.size())));
  }

  mutable std::mutex mutex_;
  std::set<std::string> routes_;
};

class UcxRoute : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_built("ucx")) GTEST_SKIP() << "built without libucx";
  }

  std::set<std::string> routes_with(const std::string& transports) const {
    const RouteLog log;
    as_threads(3, [&](int rank) {
      GroupOptions options = meeting_.options(3, rank);
      options.plane = Plane::network;
      options.driver = "ucx";
      if (!transports.empty()) options.driver_options["ucx.transports"] = transports;
      Group group = join_or_throw(std::move(options));
      std::vector<int> items(50'000, rank);
      require(group.allreduce(items));
      EXPECT_THAT(items, testing::Each(3));
    });
    return log.routes();
  }

  Meeting meeting_;
};

TEST_F(UcxRoute, AGroupOnOneHostGoesOverTcpUnlessAskedOtherwise) {
  EXPECT_THAT(routes_with(""), ElementsAre("tcp"));
}

TEST_F(UcxRoute, AGroupThatMayShareMemoryDoes) {
  EXPECT_THAT(routes_with("posix,tcp"), ElementsAre("posix"));
}

}  // namespace
}  // namespace muster::comm
