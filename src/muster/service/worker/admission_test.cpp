#include "muster/service/worker/admission.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "muster/engine/storage/storage_testing.h"

namespace muster::service {
namespace {

using engine::eventually;

/// Of two that want as many bytes the second waits until the first is gone.
void expect_one_after_the_other(Admission& admission, std::size_t bytes) {
  auto first = admission.enter(bytes);
  std::atomic<bool> inside = false;
  std::jthread second([&] {
    const auto place = admission.enter(bytes);
    inside = true;
  });
  ASSERT_TRUE(eventually([&] { return admission.waiting() == 1; }));
  EXPECT_FALSE(inside);
  first.reset();
  EXPECT_TRUE(eventually([&] { return inside.load(); }));
}

TEST(Admission, LetsTasksInThatFitTogether) {
  ByteGauge elsewhere;
  Admission admission(100, elsewhere);
  const auto a = admission.enter(60);
  const auto b = admission.enter(40);
  EXPECT_TRUE(a && b);
}

TEST(Admission, LetsOneInAloneHoweverLargeItIs) {
  ByteGauge elsewhere;
  Admission admission(100, elsewhere);
  EXPECT_TRUE(admission.enter(1000));
}

TEST(Admission, KeepsOneWaitingUntilItFits) {
  ByteGauge elsewhere;
  Admission admission(100, elsewhere);
  expect_one_after_the_other(admission, 60);
}

TEST(Admission, CountsWhatIsKeptElsewhere) {
  ByteGauge elsewhere;
  elsewhere.add(50);
  Admission admission(100, elsewhere);
  expect_one_after_the_other(admission, 40);
}

TEST(Admission, LetsOneInWhenLessIsKeptElsewhere) {
  ByteGauge elsewhere;
  elsewhere.add(50);
  Admission admission(100, elsewhere);
  const auto first = admission.enter(40);
  std::atomic<bool> inside = false;
  std::jthread second([&] { inside = admission.enter(40).has_value(); });
  ASSERT_TRUE(eventually([&] { return admission.waiting() == 1; }));
  EXPECT_FALSE(inside);
  elsewhere.subtract(50);
  EXPECT_TRUE(eventually([&] { return inside.load(); }));
  admission.stop();
}

TEST(Admission, LetsOneInAloneWhateverIsKeptElsewhere) {
  ByteGauge elsewhere;
  elsewhere.add(1000);
  Admission admission(100, elsewhere);
  EXPECT_TRUE(admission.enter(1));
}

TEST(Admission, KeepsTheOrder) {
  ByteGauge elsewhere;
  Admission admission(100, elsewhere);
  auto first = admission.enter(60);
  std::atomic<bool> large = false;
  std::atomic<bool> large_was_first = false;
  std::jthread second([&] {
    const auto place = admission.enter_alone();
    large = true;
  });
  ASSERT_TRUE(eventually([&] { return admission.waiting() == 1; }));
  std::jthread third([&] {
    const auto place = admission.enter(1);
    large_was_first = large.load();
  });
  ASSERT_TRUE(eventually([&] { return admission.waiting() == 2; }));
  first.reset();
  third.join();
  EXPECT_TRUE(large_was_first);
}

TEST(Admission, EndsAllWaitsWhenItStops) {
  ByteGauge elsewhere;
  Admission admission(100, elsewhere);
  const auto first = admission.enter(60);
  std::jthread second([&] { EXPECT_FALSE(admission.enter(60)); });
  ASSERT_TRUE(eventually([&] { return admission.waiting() == 1; }));
  admission.stop();
  second.join();
  EXPECT_FALSE(admission.enter(1));
}

}  // namespace
}  // namespace muster::service
