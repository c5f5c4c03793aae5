#include <atomic>
#include <csignal>
#include <cstring>
#include <future>
#include <map>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "muster/comm/collective/crew.h"
#include "muster/comm/collective/group.h"
#include "muster/comm/discovery/file/file_store.h"
#include "muster/comm/errc.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/runtime/host.h"
#include "tests/integration/collective/ranks.h"
#include "tests/support/child.h"

// What those are told who cannot be in a group, and who is in it when nobody says how many.

namespace muster::comm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Nobody waits for a time to be up.
constexpr Duration kLong = std::chrono::hours(1);

GroupOptions patient(GroupOptions options) {
  options.join_timeout = kLong;
  options.lease = kLong;
  return options;
}

void expect_refused(const Result<Group>& group, Errc errc, const std::string& words) {
  ASSERT_FALSE(group);
  EXPECT_TRUE(group.error().is(errc)) << group.error().message();
  EXPECT_THAT(group.error().message(), HasSubstr(words));
}

TEST(Join, OneTooManyIsToldThatTheGroupIsFullWhileItWorks) {
  const Meeting meeting;
  std::promise<void> works;
  std::promise<void> told;
  const auto over = told.get_future().share();
  as_threads(3, [&](int member) {
    if (member == 2) {
      works.get_future().wait();
      GroupOptions options = patient(meeting.options(2, 0));
      options.rank.reset();
      const auto group = Group::join(options);
      told.set_value();
      return expect_refused(group, Errc::group_full, "group 'test' has its 2 ranks already");
    }
    Group group = join_or_throw(patient(meeting.options(2, member)));
    require(group.barrier());
    if (member == 0) works.set_value();
    over.wait();
    require(group.barrier());
  });
}

TEST(Join, TwoThatWantTheSameRankAreToldSo) {
  const Meeting meeting;
  as_threads(2, [&](int) {
    expect_refused(Group::join(patient(meeting.options(2, 0))), Errc::group_full,
                   "both want rank 0 of group 'test'");
  });
}

TEST(Join, ThoseThatExpectDifferentSizesAreToldWhoExpectsWhat) {
  const Meeting meeting;
  as_threads(2, [&](int rank) {
    GroupOptions options = patient(meeting.options(2 + rank, rank));
    options.member = rank == 0 ? "small" : "large";
    expect_refused(Group::join(options), Errc::mismatch,
                   "'small' expects that group 'test' has 2 ranks, and 'large', which wants rank "
                   "1, expects 3");
  });
}

TEST(Join, ThoseThatWantDifferentPlanesAreToldWhichTheyWant) {
  const Meeting meeting;
  as_threads(2, [&](int rank) {
    GroupOptions options = patient(meeting.options(2, rank));
    options.plane = rank == 0 ? Plane::network : Plane::shared;
    expect_refused(Group::join(options), Errc::mismatch, "rank 0 'network', rank 1 'shared'");
  });
}

TEST(Join, WhoWaitsInVainIsToldWhichRanksAreMissing) {
  const Meeting meeting;
  GroupOptions options = meeting.options(4, 2);
  options.join_timeout = std::chrono::milliseconds(1);
  expect_refused(Group::join(options), Errc::discovery_incomplete,
                 "only 1 of 4 ranks came in time: rank 0, 1, 3 missing");
}

ProxyOptions component(const Meeting& meeting, const std::string& type, const std::string& name,
                       std::map<std::string, std::size_t> expected) {
  ProxyOptions options;
  options.group = "party";
  options.type = type;
  options.name = name;
  options.expected_peers = std::move(expected);
  options.discovery = meeting.options(1, 0).discovery;
  return options;
}

TEST(Join, ALearnerAndItsActorsAreAGroupThoughAnActorHasNotMetTheOther) {
  const Meeting meeting;
  std::promise<void> first_is_there;
  as_threads(3, [&](int member) {
    if (member == 2) first_is_there.get_future().wait();
    auto proxy =
        Proxy::join(member == 0 ? component(meeting, "learner", "learner", {{"actor", 2}})
                                : component(meeting, "actor", "actor" + std::to_string(member),
                                            {{"learner", 1}}));
    if (member == 1) first_is_there.set_value();
    ASSERT_TRUE(proxy) << proxy.error().message();
    auto group = Group::from(*proxy);
    ASSERT_TRUE(group) << group.error().message();
    EXPECT_THAT(group->members(), ElementsAre("actor1", "actor2", "learner"));
    require(group->barrier());
  });
}

TEST(Join, AGroupOfAProxyThatWaitsForNobodyNeedsASize) {
  const Meeting meeting;
  auto proxy = Proxy::join(component(meeting, "learner", "learner", {{"actor", 0}}));
  ASSERT_TRUE(proxy) << proxy.error().message();
  try {
    static_cast<void>(Group::from(*proxy));
    FAIL() << "it has a group";
  } catch (const std::invalid_argument& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("'size' must say how many"));
  }
}

/// A store that does not list the others any more when it is told so, as if they could not renew.
class Forgetful final : public Store {
 public:
  explicit Forgetful(const std::string& folder) : store_(make_file_store(folder).value()) {}

  std::atomic<bool> forgets = false;
  std::atomic<int> forgot = 0;

  [[nodiscard]] std::string description() const override { return store_->description(); }
  [[nodiscard]] bool host_only() const override { return true; }
  Result<void> put(const std::string& group, const Entry& entry, Duration lease) override {
    return store_->put(group, entry, lease);
  }
  Result<void> remove(const std::string& group, const Name& name, InstanceId instance) override {
    return store_->remove(group, name, instance);
  }
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& group) override {
    auto entries = store_->list(group);
    if (!entries || !forgets) return entries;
    ++forgot;
    return std::vector<Entry>();
  }
  Result<void> wait_for_change(const std::string& group, TimePoint deadline) override {
    constexpr Duration kOften = std::chrono::milliseconds(5);
    return store_->wait_for_change(group, std::min(deadline, SteadyClock().now() + kOften));
  }
  void interrupt() override { store_->interrupt(); }

 private:
  std::unique_ptr<Store> store_;
};

/// Notes who is gone.
class Witness final : public collective::CrewSink {
 public:
  bool departed = false;

  void on_control(const std::string& /*from*/, const nlohmann::json& /*control*/) override {}
  void on_data(const std::string& /*from*/, const Message& /*message*/) override {}
  void on_exit(const std::string& /*member*/, std::int64_t /*pid*/) override {}
  void on_departure(const std::string& /*member*/, std::optional<std::int64_t> /*pid*/) override {
    departed = true;
  }
  [[nodiscard]] std::optional<Error> turn_away(const std::string& /*from*/, int /*size*/,
                                               Duration /*waited*/) const override {
    return std::nullopt;
  }
  bool progress() override { return false; }
};

/// Meets another process, which then seems to be silent, and goes on until it counts as gone.
class Acquaintance {
 public:
  explicit Acquaintance(const Meeting& meeting)
      : options_(meeting.options(2, 0)),
        other_([&] {
          const auto crew = collective::Crew::join(options_);
          ::pause();
        }),
        store_(std::make_shared<Forgetful>(options_.discovery.substr(std::strlen("file:")))) {
    options_.store = store_;
    options_.lease = std::chrono::milliseconds(200);
    crew_ = collective::Crew::join(options_).value();
    lock_ = collective::Crew::Lock(crew_->mutex());
    crew_->add(1, witness_, nullptr);
    while (crew_->peers().empty()) require(crew_->wait(lock_, TimePoint::max()));
    Hello hello;
    hello.pid = other_.pid();
    hello.host = host_id();
    hello.pid_namespace = pid_namespace();
    crew_->watch(*crew_->peers().begin(), hello);
    require(crew_->wait(lock_, TimePoint::max()));  // takes note of it
    store_->forgets = true;
  }
  ~Acquaintance() {
    crew_->remove(1);
    lock_.unlock();
  }

  using Hello = collective::Hello;
  void stop() const { other_.signal(SIGSTOP); }
  void joined() { crew_->joined(); }
  /// For long enough that it would count as gone.
  bool is_there_for_long() {
    while (store_->forgot < 200 && !witness_.departed)
      require(crew_->wait(lock_, TimePoint::max()));
    return !witness_.departed && crew_->peers().size() == 1;
  }
  void wait_until_gone() {
    while (!witness_.departed) require(crew_->wait(lock_, TimePoint::max()));
    EXPECT_TRUE(crew_->peers().empty());
  }

 private:
  GroupOptions options_;
  test::Child other_;
  std::shared_ptr<Forgetful> store_;
  Witness witness_;
  std::shared_ptr<collective::Crew> crew_;
  collective::Crew::Lock lock_;
};

TEST(Join, WhoIsMerelySlowIsNotGoneBeforeTheGroupIsMade) {
  const Meeting meeting;
  Acquaintance slow(meeting);
  EXPECT_TRUE(slow.is_there_for_long());
  slow.joined();
  slow.wait_until_gone();
}

TEST(Join, WhoIsStoppedIsGoneBeforeTheGroupIsMade) {
  const Meeting meeting;
  Acquaintance stopped(meeting);
  stopped.stop();
  stopped.wait_until_gone();
}

}  // namespace
}  // namespace muster::comm
