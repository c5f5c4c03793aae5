#include "muster/service/client/cluster_session.h"

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "muster/base/random.h"
#include "muster/engine/errors.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/indexing/gather.h"
#include "muster/engine/session/session.h"
#include "muster/service/cluster_testing.h"
#include "muster/service/errc.h"
#include "muster/service/web/web_service.h"

namespace muster::service {
namespace {

using namespace std::chrono_literals;
using engine::Array;
using engine::ArrayError;
using engine::RunControl;
using engine::Tensor;
using engine::Wrong;

/// A client of a web role before a fake cluster.
class ClusterSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             fmt::format("muster-client-{:016x}", secure_random_u64());
    ::setenv("MUSTER_RUNTIME_DIR", folder.c_str(), 1);
    for (const char* name : {"MUSTER_TOKEN", "MUSTER_SECRET"}) ::unsetenv(name);
    start_web(0);
  }
  void TearDown() override {
    web.reset();
    std::filesystem::remove_all(folder);
    ::unsetenv("MUSTER_RUNTIME_DIR");
  }
  void start_web(std::uint16_t port) {
    WebOptions options;
    options.role.store = cluster.store();
    options.role.port = port;
    auto started = WebService::start(options);
    ASSERT_TRUE(started.has_value()) << started.error().message();
    web = *std::move(started);
  }
  std::unique_ptr<ClusterSession> open(ClusterOptions options = {}) {
    auto opened = ClusterSession::open(web->url(), std::move(options));
    if (!opened) throw std::runtime_error(opened.error().message());
    return *std::move(opened);
  }

  static Tensor numbers(std::int64_t count, std::int64_t chunk) {
    std::vector<double> items(static_cast<std::size_t>(count));
    std::iota(items.begin(), items.end(), 0.0);
    return engine::constant(Array::copy_of(engine::Type::f64, {count}, items.data()), chunk);
  }
  static Tensor plus(const Tensor& a, const Tensor& b) { return engine::apply_one("add", {a, b}); }
  /// Tries until it holds, because releasing happens some time later.
  template <class Condition>
  static bool soon(Condition&& condition) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::filesystem::path folder;
  FakeCluster cluster;
  std::unique_ptr<WebService> web;
};

TEST_F(ClusterSessionTest, ComputesAndFetches) {
  const auto session = open();
  const Tensor x = numbers(10, 3);
  const Tensor sum = plus(x, x);
  session->execute(sum);
  EXPECT_EQ(sum.node()->stored(0)->splits(), (engine::Splits{{3, 3, 3, 1}}));
  EXPECT_FALSE(sum.node()->stored(0)->chunk_here(0)) << "it is on the cluster";
  const auto items = session->fetch<double>(sum);
  ASSERT_EQ(items.size(), 10u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(items[i], 2.0 * static_cast<double>(i));
  EXPECT_THROW((void)session->fetch<float>(sum), ArrayError);
}

TEST_F(ClusterSessionTest, FetchesOnlyTheChunksThatAPartTouches) {
  const auto session = open();
  const Tensor sum = plus(numbers(10, 2), numbers(10, 2));
  session->execute(sum);
  const int before = cluster.chunks_read();
  const Array part = session->fetch_part(sum, {3}, {2});
  EXPECT_EQ(cluster.chunks_read() - before, 2);
  EXPECT_EQ(part.as<double>()[0], 6);
  EXPECT_EQ(part.as<double>()[1], 8);
  EXPECT_EQ(session->fetch_part(sum, {3}, {0}).size(), 0);
  EXPECT_THROW((void)session->fetch_part(sum, {9}, {2}), ArrayError);
  EXPECT_THROW((void)session->fetch_part(sum, {0, 0}, {1, 1}), ArrayError);
}

TEST_F(ClusterSessionTest, GoesOnWithWhatIsOnTheCluster) {
  const auto session = open();
  const Tensor one = plus(numbers(10, 5), numbers(10, 5));
  session->execute(one);
  const Tensor two = plus(one, one);
  session->execute(two);
  EXPECT_EQ(session->fetch<double>(two)[9], 36);
  EXPECT_EQ(cluster.asked("upload"), 0);
  session->execute({one, two});
  EXPECT_EQ(cluster.asked("submit"), 2) << "nothing was left to do";
}

TEST_F(ClusterSessionTest, UploadsALargeArrayOnce) {
  const auto session = open();
  const std::int64_t count = (3 << 20) / 8;
  {
    const Tensor large = numbers(count, 1 << 17);
    const Tensor one = plus(large, large);
    session->execute(one);
    EXPECT_EQ(cluster.asked("upload"), 1);
    session->execute(engine::apply_one("multiply", {large, large}));
    EXPECT_EQ(cluster.asked("upload"), 1);
    EXPECT_EQ(session->fetch<double>(one)[static_cast<std::size_t>(count - 1)],
              2.0 * static_cast<double>(count - 1));
  }
  // The array is gone; the next execution notices.
  session->execute(plus(numbers(2, 1), numbers(2, 1)));
  EXPECT_TRUE(soon([&] { return cluster.tensors() == 0; })) << cluster.tensors();
}

TEST_F(ClusterSessionTest, LetsWorkersOfItsHostTakeLargeChunksFromItsMemory) {
  const auto session = open();
  for (const bool takes : {true, false}) {
    cluster.let_workers_take(takes);
    const int before = cluster.chunks_taken();
    const Tensor sum = plus(numbers(1 << 18, 1 << 16), numbers(1 << 18, 1 << 16));
    session->execute(sum);
    EXPECT_EQ(cluster.chunks_taken() - before, takes ? 8 : 0);
    const auto items = session->fetch<double>(sum);
    for (std::size_t i = 0; i < items.size(); i += 1000)
      EXPECT_EQ(items[i], 2.0 * static_cast<double>(i));
  }
}

TEST_F(ClusterSessionTest, UploadsWhatWasComputedHere) {
  engine::Session local;
  const Tensor here = plus(numbers(6, 4), numbers(6, 4));
  local.execute(here);
  const auto session = open();
  const Tensor there = plus(here, here);
  session->execute(there);
  EXPECT_EQ(cluster.asked("upload"), 1);
  EXPECT_EQ(session->fetch<double>(there)[5], 20);
  EXPECT_EQ(session->fetch<double>(here)[5], 10);
  EXPECT_EQ(local.fetch<double>(plus(there, there))[5], 40) << "and the other way round";
}

TEST_F(ClusterSessionTest, ReleasesResultsThatNobodyRefersTo) {
  const auto session = open();
  {
    const Tensor sum = plus(numbers(4, 2), numbers(4, 2));
    session->execute(sum);
    EXPECT_EQ(cluster.tensors(), 1u);
  }
  EXPECT_TRUE(soon([&] { return cluster.tensors() == 0; }));
}

TEST_F(ClusterSessionTest, ReleasesBeforeTheNextExecution) {
  const auto session = open();
  for (int round = 0; round < 5; ++round) {
    const Tensor sum = plus(numbers(40, 10), numbers(40, 10));
    session->execute({sum});
    EXPECT_EQ(cluster.tensors(), 1u) << "those of earlier rounds are gone already";
  }
}

TEST_F(ClusterSessionTest, ShowsNoTicketInErrors) {
  const auto session = open({.timeout = 300ms});
  web->stop();
  try {
    session->execute({plus(numbers(40, 10), numbers(40, 10))});
    ADD_FAILURE() << "nobody is there";
  } catch (const ArrayError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("/executions"), std::string::npos) << text;
    const std::string path = text.substr(text.find("/api/sessions/") + 14);
    EXPECT_EQ(path.substr(0, path.find('/')).find('.'), std::string::npos) << text;
  }
}

TEST_F(ClusterSessionTest, RaisesWhatTheClusterSays) {
  const auto session = open();
  const Tensor index = engine::constant(
      Array::copy_of(engine::Type::i64, {1}, std::array<std::int64_t, 1>{7}.data()));
  const engine::OriginScope scope({"train.py:17"});
  const Tensor taken = engine::take(numbers(3, 3), index, 0);
  try {
    session->execute(taken);
    FAIL() << "index 7 of 3 is there";
  } catch (const ArrayError& error) {
    EXPECT_EQ(error.wrong(), Wrong::index) << error.what();
    EXPECT_NE(std::string(error.what()).find("7"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("train.py:17"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(soon([&] { return cluster.tensors() == 0; }));
}

TEST_F(ClusterSessionTest, CancelsOnTheClusterToo) {
  const auto session = open();
  cluster.hold = true;
  RunControl control;
  std::jthread cancelling([&] {
    EXPECT_TRUE(soon([&] { return cluster.asked("progress") > 0; }));
    control.cancel();
  });
  try {
    session->execute({plus(numbers(4, 2), numbers(4, 2))}, {}, &control);
    FAIL() << "it was cancelled";
  } catch (const ArrayError& error) {
    EXPECT_EQ(error.wrong(), Wrong::cancelled);
  }
  EXPECT_GE(cluster.asked("cancel"), 1);
  EXPECT_EQ(control.tasks, 2u);
  EXPECT_EQ(control.done, 1u);
  EXPECT_EQ(control.bytes, 3u);
  cluster.hold = false;
}

TEST_F(ClusterSessionTest, EndsAtTheDeadlineAndWhenWhoWaitsThrows) {
  const auto session = open();
  cluster.hold = true;
  RunControl late;
  late.deadline = RunControl::Clock::now() + 50ms;
  try {
    session->execute({numbers(4, 2)}, {}, &late);
    FAIL() << "it cannot end";
  } catch (const ArrayError& error) {
    EXPECT_EQ(error.wrong(), Wrong::timeout);
  }
  RunControl watched;
  watched.on_wait = [&] {
    if (cluster.asked("submit") > 1) throw std::runtime_error("enough");
  };
  EXPECT_THROW(session->execute({numbers(4, 2)}, {}, &watched), std::runtime_error);
  cluster.hold = false;
}

TEST_F(ClusterSessionTest, UploadsAgainWhatWasLostWithAWorker) {
  const auto session = open();
  const std::int64_t count = (2 << 20) / 8;
  const Tensor large = numbers(count, 1 << 16);
  session->execute(plus(large, large));
  cluster.lose_worker("worker-0");
  const Tensor again = engine::apply_one("multiply", {large, large});
  session->execute(again);
  EXPECT_EQ(session->fetch<double>(again)[3], 9);
  EXPECT_GE(cluster.asked("submit"), 3);
}

TEST_F(ClusterSessionTest, GoesOnWhenTheWebRoleIsStartedAgain) {
  const std::uint16_t port = web->port();
  web.reset();
  start_web(port);  // at a port that was asked for, so its token stays
  const auto session = open();
  const Tensor sum = plus(numbers(4, 2), numbers(4, 2));
  session->execute(sum);
  web.reset();
  std::jthread again([&] { start_web(port); });
  EXPECT_EQ(session->fetch<double>(sum)[3], 6);
  again.join();
  const Tensor more = plus(sum, sum);
  session->execute(more);
  EXPECT_EQ(session->fetch<double>(more)[3], 12);
}

TEST_F(ClusterSessionTest, SaysWhyItCannotBeOpened) {
  const auto wrong = ClusterSession::open("web:7105");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_TRUE(wrong.error().is(Errc::invalid)) << wrong.error().message();
  const auto refused = ClusterSession::open(web->url(), {.token = "wrong"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(Errc::refused));
  EXPECT_NE(refused.error().message().find("MUSTER_TOKEN"), std::string::npos);
  const std::string url = web->url();
  web.reset();
  const auto gone = ClusterSession::open(url, {.timeout = 100ms});
  ASSERT_FALSE(gone.has_value());
  EXPECT_TRUE(gone.error().is(Errc::unreachable)) << gone.error().message();
}

TEST_F(ClusterSessionTest, TellsAboutTheCluster) {
  const auto session = open();
  EXPECT_EQ(session->cluster_info().at("workers").size(), 2u);
}

TEST_F(ClusterSessionTest, ComputesAgainWhatAClosedSessionHeld) {
  auto first = open();
  const Tensor sum = plus(numbers(4, 2), numbers(4, 2));
  first->execute(sum);
  const auto stored = sum.node()->stored(0);
  first->close();
  EXPECT_EQ(cluster.asked("close"), 1);
  EXPECT_THROW((void)stored->chunk(0), ArrayError);
  EXPECT_THROW((void)first->fetch(sum), ArrayError);
  const auto second = open();
  EXPECT_EQ(second->fetch<double>(sum)[3], 6);
}

TEST_F(ClusterSessionTest, RunsSeveralExecutionsAtOnce) {
  const auto session = open();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const Tensor sum = plus(numbers(8, 2), numbers(8, 2));
      session->execute(sum);
      EXPECT_EQ(session->fetch<double>(sum)[7], 14);
    });
}

TEST_F(ClusterSessionTest, FetchesMatricesCutBothWays) {
  const auto session = open();
  std::vector<std::int32_t> items(35);
  std::iota(items.begin(), items.end(), 0);
  const Tensor matrix =
      engine::constant(Array::copy_of(engine::Type::i32, {5, 7}, items.data()), engine::Ints{2, 3});
  const Tensor sum = plus(matrix, matrix);
  session->execute(sum);
  const auto whole = session->fetch<std::int32_t>(sum);
  for (std::size_t i = 0; i < 35; ++i) EXPECT_EQ(whole[i], 2 * items[i]);
  const Array part = session->fetch_part(sum, {1, 2}, {3, 4});
  for (std::int64_t row = 0; row < 3; ++row)
    for (std::int64_t column = 0; column < 4; ++column)
      EXPECT_EQ(part.as<std::int32_t>()[row * 4 + column], 2 * ((row + 1) * 7 + column + 2));
  const Tensor number = engine::constant(engine::Scalar(3.5));
  EXPECT_EQ(session->fetch<double>(plus(number, number)).item(), 7.0);
}

}  // namespace
}  // namespace muster::service
