// What every discovery store must do. A new one is a world below and a line at the end.

#include "muster/comm/discovery/store.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/discovery/file/file_store.h"
#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/comm/discovery/redis/redis_store.h"
#include "muster/comm/discovery/served/served_store.h"
#include "muster/comm/discovery/served/store_server.h"
#include "muster/comm/errc.h"
#include "tests/support/redis_server.h"
#include "tests/support/temp_dir.h"

namespace muster::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kLong = minutes(5);
constexpr Duration kShort = milliseconds(50);

/// The data that several store objects share.
class World {
 public:
  virtual ~World() = default;
  virtual std::unique_ptr<Store> open() = 0;
};

class MemoryWorld final : public World {
 public:
  std::unique_ptr<Store> open() override { return std::make_unique<MemoryStore>(board_); }

 private:
  SteadyClock clock_;
  std::shared_ptr<MemoryBoard> board_ = std::make_shared<MemoryBoard>(clock_);
};

class FileWorld final : public World {
 public:
  std::unique_ptr<Store> open() override { return make_file_store(folder_.path()).value(); }

 private:
  test::TempDir folder_;
};

class RedisWorld final : public World {
 public:
  std::unique_ptr<Store> open() override { return make_redis_store(server_.address()).value(); }

 private:
  test::RedisServer server_{{.tcp = false}};
};

class ServedWorld final : public World {
 public:
  std::unique_ptr<Store> open() override {
    return make_served_store(server_->address(), kSecurity).value();
  }

 private:
  inline static const Security kSecurity{.secret = "conformance", .insecure = false};
  std::unique_ptr<StoreServer> server_ = StoreServer::start({.security = kSecurity}).value();
};

struct Kind {
  const char* name;
  std::function<std::unique_ptr<World>()> make;
};

template <class W>
Kind kind(const char* name) {
  return {name, [] { return std::make_unique<W>(); }};
}

TimePoint in(Duration duration) { return SteadyClock().now() + duration; }

/// Looks until the predicate holds; false after ten seconds.
template <class Predicate>
bool eventually(Predicate predicate) {
  const TimePoint deadline = in(seconds(10));
  while (!predicate()) {
    if (SteadyClock().now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

std::vector<std::string> names(Store& store, const std::string& group = "g") {
  std::vector<std::string> found;
  const auto listed = store.list(group).value();
  for (const auto& entry : listed) found.push_back(entry.name.str());
  return found;
}

class StoreTest : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Store> open() { return world_->open(); }

  std::unique_ptr<World> world_ = GetParam().make();
  std::unique_ptr<Store> a_ = world_->open();
  std::unique_ptr<Store> b_ = world_->open();
};

TEST_P(StoreTest, ListsWhatWasPutSortedByName) {
  Entry zoe = local_entry("zoe", "actor");
  zoe.addresses = {{"zmq", "tcp://127.0.0.1:4711"}, {"shm", "x"}};
  const Entry adam = local_entry("adam", "learner");
  ASSERT_TRUE(a_->put("g", zoe, kLong).has_value());
  ASSERT_TRUE(b_->put("g", adam, kLong).has_value());
  EXPECT_THAT(a_->list("g").value(), ElementsAre(adam, zoe));
  EXPECT_THAT(b_->list("g").value(), ElementsAre(adam, zoe));
}

TEST_P(StoreTest, ListsNothingForAGroupThatNobodyJoined) {
  EXPECT_THAT(a_->list("nobody").value(), IsEmpty());
}

TEST_P(StoreTest, RemovesForEverybody) {
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(a_->put("g", entry, kLong).has_value());
  ASSERT_TRUE(a_->remove("g", "a", entry.instance).has_value());
  EXPECT_THAT(names(*b_), IsEmpty());
}

TEST_P(StoreTest, RemovesWhatAnotherObjectPut) {
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(a_->put("g", entry, kLong).has_value());
  ASSERT_TRUE(b_->remove("g", "a", entry.instance).has_value());
  EXPECT_THAT(names(*a_), IsEmpty());
}

TEST_P(StoreTest, RemovingWhatIsAbsentSucceeds) {
  EXPECT_TRUE(a_->remove("g", "a", new_instance_id()).has_value());
}

TEST_P(StoreTest, AWrongInstanceRemovesNothing) {
  ASSERT_TRUE(a_->put("g", local_entry("a", "actor"), kLong).has_value());
  EXPECT_TRUE(b_->remove("g", "a", new_instance_id()).has_value());
  EXPECT_THAT(names(*b_), ElementsAre("a"));
}

TEST_P(StoreTest, ForgetsWhatIsNotRenewed) {
  ASSERT_TRUE(a_->put("g", local_entry("a", "actor"), kShort).has_value());
  EXPECT_TRUE(eventually([&] { return names(*b_).empty(); }));
}

TEST_P(StoreTest, KeepsWhatIsRenewed) {
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(a_->put("g", entry, kShort).has_value());
  ASSERT_TRUE(a_->put("g", entry, kLong).has_value());
  const TimePoint after = in(2 * kShort);
  while (SteadyClock().now() < after) ASSERT_THAT(names(*b_), ElementsAre("a"));
}

TEST_P(StoreTest, ListsAgainWhatIsRenewedTooLate) {
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(a_->put("g", entry, kShort).has_value());
  ASSERT_TRUE(eventually([&] { return names(*b_).empty(); }));
  ASSERT_TRUE(a_->put("g", entry, kLong).has_value());
  EXPECT_THAT(b_->list("g").value(), ElementsAre(entry));
}

TEST_P(StoreTest, PutsBackWhatWasRemovedFromUnderIt) {
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(a_->put("g", entry, kLong).has_value());
  ASSERT_TRUE(b_->remove("g", "a", entry.instance).has_value());
  ASSERT_TRUE(a_->put("g", entry, kLong).has_value());
  EXPECT_THAT(names(*b_), ElementsAre("a"));
}

TEST_P(StoreTest, RenewingTakesNewAddresses) {
  Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(a_->put("g", entry, kLong).has_value());
  entry.addresses["zmq"] = "tcp://127.0.0.1:1";
  ASSERT_TRUE(a_->put("g", entry, kLong).has_value());
  EXPECT_THAT(b_->list("g").value(), ElementsAre(entry));
}

TEST_P(StoreTest, ANewInstanceReplacesTheOldOneWhichIsThenRefused) {
  const Entry old = local_entry("a", "actor");
  const Entry fresh = local_entry("a", "actor");
  ASSERT_TRUE(a_->put("g", old, kLong).has_value());
  ASSERT_TRUE(b_->put("g", fresh, kLong).has_value());
  EXPECT_THAT(a_->list("g").value(), ElementsAre(fresh));
  for (int i = 0; i < 2; ++i) {
    const auto renewed = a_->put("g", old, kLong);
    ASSERT_FALSE(renewed.has_value());
    EXPECT_TRUE(renewed.error().is(Errc::refused)) << renewed.error().message();
    EXPECT_THAT(renewed.error().message(), testing::HasSubstr("'a'"));
    EXPECT_THAT(b_->list("g").value(), ElementsAre(fresh));
    EXPECT_TRUE(b_->put("g", fresh, kLong).has_value());
  }
}

TEST_P(StoreTest, TheReplacedInstanceDoesNotRemoveItsSuccessor) {
  const Entry old = local_entry("a", "actor");
  const Entry fresh = local_entry("a", "actor");
  ASSERT_TRUE(a_->put("g", old, kLong).has_value());
  ASSERT_TRUE(b_->put("g", fresh, kLong).has_value());
  EXPECT_TRUE(a_->remove("g", "a", old.instance).has_value());
  EXPECT_THAT(a_->list("g").value(), ElementsAre(fresh));
}

TEST_P(StoreTest, AnInstanceReplacesOneWhoseLeaseEnded) {
  const Entry old = local_entry("a", "actor");
  const Entry fresh = local_entry("a", "actor");
  ASSERT_TRUE(a_->put("g", old, kShort).has_value());
  ASSERT_TRUE(eventually([&] { return names(*b_).empty(); }));
  ASSERT_TRUE(b_->put("g", fresh, kLong).has_value());
  const auto renewed = a_->put("g", old, kLong);
  ASSERT_FALSE(renewed.has_value());
  EXPECT_TRUE(renewed.error().is(Errc::refused));
  EXPECT_THAT(a_->list("g").value(), ElementsAre(fresh));
}

TEST_P(StoreTest, KeepsGroupsApart) {
  ASSERT_TRUE(a_->put("g", local_entry("a", "actor"), kLong).has_value());
  ASSERT_TRUE(a_->put("h", local_entry("b", "actor"), kLong).has_value());
  EXPECT_THAT(names(*b_, "g"), ElementsAre("a"));
  EXPECT_THAT(names(*b_, "h"), ElementsAre("b"));
}

TEST_P(StoreTest, TakesOddNamesOfPeersAndGroups) {
  const std::vector<std::string> odd{" ",
                                     "a b",
                                     "a/b",
                                     "/",
                                     ".",
                                     "..",
                                     "../..",
                                     "été 漢字 🚀",
                                     "line\nbreak",
                                     "%2F",
                                     "a:b{c}*[d]?",
                                     "-rf",
                                     "~",
                                     "\"'\\`",
                                     "a\tb",
                                     "$(x)",
                                     "entries:x",
                                     "x.tmp",
                                     std::string(1000, 'x'),
                                     std::string(999, 'x') + "y",
                                     std::string(1000, '/'),
                                     std::string(1024, '.')};
  for (const auto& group : odd) {
    for (const auto& name : {odd.front(), odd.back(), group}) {
      const Entry entry = local_entry(name, "actor");
      ASSERT_TRUE(a_->put(group, entry, kLong).has_value()) << group;
      ASSERT_THAT(b_->list(group).value(), ElementsAre(entry)) << group;
      ASSERT_TRUE(a_->remove(group, name, entry.instance).has_value());
      ASSERT_THAT(b_->list(group).value(), IsEmpty()) << group;
    }
  }
  for (const auto& name : odd)
    ASSERT_TRUE(a_->put("odd", local_entry(name, "actor"), kLong).has_value());
  EXPECT_THAT(names(*b_, "odd"), testing::UnorderedElementsAreArray(odd));
}

TEST_P(StoreTest, ListsFiveHundredEntries) {
  constexpr int kCount = 500;
  for (int i = 0; i < kCount; ++i)
    ASSERT_TRUE(a_->put("g", local_entry("peer_" + std::to_string(i), "actor"), kLong).has_value());
  EXPECT_EQ(b_->list("g")->size(), 500u);
}

TEST_P(StoreTest, APutElsewhereEndsAWait) {
  ASSERT_THAT(names(*a_), IsEmpty());
  std::jthread other(
      [&] { ASSERT_TRUE(b_->put("g", local_entry("b", "actor"), kLong).has_value()); });
  while (names(*a_).empty()) ASSERT_TRUE(a_->wait_for_change("g", in(seconds(20))).has_value());
}

TEST_P(StoreTest, ARemovalElsewhereEndsAWait) {
  const Entry entry = local_entry("b", "actor");
  ASSERT_TRUE(b_->put("g", entry, kLong).has_value());
  ASSERT_THAT(names(*a_), ElementsAre("b"));
  std::jthread other([&] { ASSERT_TRUE(b_->remove("g", "b", entry.instance).has_value()); });
  while (!names(*a_).empty()) ASSERT_TRUE(a_->wait_for_change("g", in(seconds(20))).has_value());
}

TEST_P(StoreTest, AChangeBetweenListAndWaitIsNotMissed) {
  ASSERT_TRUE(a_->put("g", local_entry("a", "actor"), kLong).has_value());
  ASSERT_THAT(names(*a_), ElementsAre("a"));
  ASSERT_TRUE(b_->put("g", local_entry("b", "actor"), kLong).has_value());
  ASSERT_TRUE(a_->wait_for_change("g", in(minutes(1))).has_value());
  EXPECT_THAT(names(*a_), ElementsAre("a", "b"));
}

TEST_P(StoreTest, AReplacementEndsAWait) {
  ASSERT_TRUE(b_->put("g", local_entry("b", "actor"), kLong).has_value());
  ASSERT_THAT(names(*a_), ElementsAre("b"));
  ASSERT_TRUE(open()->list("g").has_value());
  auto c = open();
  const Entry fresh = local_entry("b", "actor");
  std::jthread other([&] { ASSERT_TRUE(c->put("g", fresh, kLong).has_value()); });
  while (a_->list("g").value() != std::vector{fresh})
    ASSERT_TRUE(a_->wait_for_change("g", in(seconds(20))).has_value());
}

TEST_P(StoreTest, TheEndOfALeaseEndsAWait) {
  ASSERT_TRUE(b_->put("g", local_entry("b", "actor"), kShort).has_value());
  while (!names(*a_).empty()) ASSERT_TRUE(a_->wait_for_change("g", in(seconds(20))).has_value());
}

TEST_P(StoreTest, AWaitEndsAtItsDeadline) {
  ASSERT_TRUE(a_->put("g", local_entry("a", "actor"), kLong).has_value());
  ASSERT_THAT(names(*a_), ElementsAre("a"));
  const TimePoint deadline = in(milliseconds(30));
  ASSERT_TRUE(a_->wait_for_change("g", deadline).has_value());
  EXPECT_GE(SteadyClock().now(), deadline);
}

TEST_P(StoreTest, ADeadlineThatHasPassedEndsAWaitAtOnce) {
  ASSERT_THAT(names(*a_), IsEmpty());
  EXPECT_TRUE(a_->wait_for_change("g", in(-seconds(1))).has_value());
}

TEST_P(StoreTest, AnInterruptEndsAWait) {
  ASSERT_THAT(names(*a_), IsEmpty());
  std::jthread other([&] { a_->interrupt(); });
  EXPECT_TRUE(a_->wait_for_change("g", in(minutes(1))).has_value());
}

TEST_P(StoreTest, AnInterruptIsKeptForTheNextWaitAndEndsOnlyOne) {
  ASSERT_THAT(names(*a_), IsEmpty());
  a_->interrupt();
  EXPECT_TRUE(a_->wait_for_change("g", in(minutes(1))).has_value());
  const TimePoint deadline = in(milliseconds(30));
  ASSERT_TRUE(a_->wait_for_change("g", deadline).has_value());
  EXPECT_GE(SteadyClock().now(), deadline);
}

TEST_P(StoreTest, ServesManyThreads) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 20;
  std::atomic<int> failures{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Store& store = t % 2 == 0 ? *a_ : *b_;
        const Entry entry = local_entry("peer_" + std::to_string(t), "actor");
        for (int i = 0; i < kRounds; ++i) {
          if (!store.put("g", entry, kLong)) ++failures;
          const auto listed = store.list("g");
          if (!listed || std::find(listed->begin(), listed->end(), entry) == listed->end())
            ++failures;
          if (i % 4 == 3 && !store.remove("g", entry.name, entry.instance)) ++failures;
        }
        if (!store.put("g", entry, kLong)) ++failures;
      });
    }
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(a_->list("g")->size(), std::size_t{kThreads});
}

TEST_P(StoreTest, OneOfManyInstancesThatComeAtOnceStays) {
  constexpr int kThreads = 6;
  std::vector<std::unique_ptr<Store>> stores;
  std::vector<Entry> entries;
  for (int t = 0; t < kThreads; ++t) {
    stores.push_back(open());
    entries.push_back(local_entry("same", "actor"));
  }
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const auto put = stores[t]->put("g", entries[t], kLong);
        EXPECT_TRUE(put.has_value() || put.error().is(Errc::refused));
      });
    }
  }
  const auto winner = a_->list("g").value();
  ASSERT_EQ(winner.size(), 1u);
  for (std::size_t t = 0; t < kThreads; ++t) {
    if (entries[t] != winner.front()) continue;
    EXPECT_TRUE(stores[t]->put("g", entries[t], kLong).has_value());
  }
  EXPECT_THAT(a_->list("g").value(), ElementsAre(winner.front()));
}

TEST_P(StoreTest, DescribesItself) { EXPECT_FALSE(a_->description().empty()); }

INSTANTIATE_TEST_SUITE_P(All, StoreTest,
                         testing::Values(kind<MemoryWorld>("memory"), kind<FileWorld>("file"),
                                         kind<RedisWorld>("redis"), kind<ServedWorld>("served")),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace muster::comm
