#include "muster/comm/proxy/registrar.h"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

using namespace std::chrono_literals;

/// A store that is away when the test says so.
class ShakyStore final : public Store {
 public:
  std::atomic<int> failing_puts = 0;
  std::atomic<int> puts = 0;
  std::atomic<int> removals = 0;
  std::atomic<Duration> last_lease{};
  std::vector<TimePoint> deadlines;

  [[nodiscard]] std::string description() const override { return "shaky"; }
  Result<void> put(const std::string& /*group*/, const Entry& /*entry*/, Duration lease) override {
    last_lease = lease;
    const bool fails = failing_puts > 0;
    if (fails) --failing_puts;
    ++puts;
    puts.notify_all();
    if (fails) return fail(Errc::store_unreachable, "away");
    return {};
  }
  Result<void> remove(const std::string& /*group*/, const Name& /*name*/,
                      InstanceId /*instance*/) override {
    ++removals;
    return {};
  }
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& /*group*/) override {
    return std::vector<Entry>();
  }
  Result<void> wait_for_change(const std::string& /*group*/, TimePoint deadline) override {
    std::this_thread::sleep_until(std::min(deadline, SteadyClock().now() + 1ms));
    return {};
  }
  void interrupt() override {}
  void hurry(TimePoint deadline) override { deadlines.push_back(deadline); }
};

class RegistrarTest : public testing::Test {
 protected:
  Registrar registrar(Duration lease) {
    return {store, "g", self, lease, {.on_list = [](const auto&) {}, .on_expelled = {}}};
  }

  std::shared_ptr<ShakyStore> store = std::make_shared<ShakyStore>();
  const Entry self = [] {
    Entry entry;
    entry.name = "a";
    entry.instance = InstanceId(1);
    return entry;
  }();
};

TEST_F(RegistrarTest, TakesItsEntryAwayThoughTheStoreWasAwayAtFirst) {
  store->failing_puts = 1;
  Registrar mine = registrar(60s);
  ASSERT_TRUE(mine.start(SteadyClock().now() + 20s));
  mine.stop();
  EXPECT_EQ(store->removals, 1);
  ASSERT_GE(store->deadlines.size(), 2u);
  EXPECT_LT(store->deadlines.front(), TimePoint::max())
      << "nobody waits long for one that ends too";
  EXPECT_EQ(store->deadlines.back(), TimePoint::max()) << "others may use it";
}

TEST_F(RegistrarTest, RenewsSoonWhenItsLeaseIsChanged) {
  Registrar mine = registrar(24h);
  ASSERT_TRUE(mine.start(SteadyClock().now() + 20s));
  ASSERT_EQ(store->puts, 1);
  mine.set_lease(12h);
  store->puts.wait(1);
  EXPECT_EQ(store->last_lease.load(), 12h);
  mine.stop();
}

TEST_F(RegistrarTest, LeavesWithoutAskingAStoreThatIsAway) {
  Registrar mine = registrar(4ms);
  ASSERT_TRUE(mine.start(SteadyClock().now() + 20s));
  store->failing_puts = 1'000'000;
  const int before = store->puts;
  // The second attempt after this began when the first had failed.
  while (store->puts < before + 3) store->puts.wait(store->puts);
  mine.stop();
  EXPECT_EQ(store->removals, 0);
}

}  // namespace
}  // namespace muster::comm
