#include "muster/service/client/parallel.h"

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "muster/engine/errors.h"
#include "muster/service/client/web_calls.h"

namespace muster::service {
namespace {

using namespace std::chrono_literals;

TEST(Parallel, DoesEveryPieceOnce) {
  std::vector<std::atomic<int>> done(100);
  in_parallel(100, 4, [&](std::size_t number, const std::stop_token&) { ++done[number]; }, {});
  for (const auto& each : done) EXPECT_EQ(each, 1);
  in_parallel(0, 4, [](std::size_t, const std::stop_token&) { FAIL(); }, {});
}

TEST(Parallel, StopsTheOthersWhenOneThrows) {
  EXPECT_THROW(in_parallel(1000, 4,
                           [](std::size_t number, const std::stop_token& stop) {
                             if (number == 0) throw std::runtime_error("no");
                             (void)sleep_unless(stop, 20s);
                           },
                           {}),
               std::runtime_error);
}

TEST(Parallel, EndsWhenWhoWaitsThrows) {
  EXPECT_THROW(
      in_parallel(
          4, 2, [](std::size_t, const std::stop_token& stop) { (void)sleep_unless(stop, 20s); }, {},
          [] { throw std::runtime_error("enough"); }),
      std::runtime_error);
}

TEST(Parallel, EndsWhenItIsStopped) {
  std::stop_source stop;
  EXPECT_THROW(in_parallel(
                   4, 2,
                   [&](std::size_t, const std::stop_token& inner) {
                     stop.request_stop();
                     (void)sleep_unless(inner, 20s);
                   },
                   stop.get_token()),
               engine::ArrayError);
}

}  // namespace
}  // namespace muster::service
