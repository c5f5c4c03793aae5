#include "muster/comm/proxy/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/proxy/scripted_driver.h"

namespace muster::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MembershipTest : public testing::Test, private Membership::Listener {
 protected:
  static Entry entry(const std::string& name, std::uint64_t instance, std::int64_t born = 1) {
    Entry result = local_entry(name, "actor");
    result.instance = InstanceId(instance);
    result.addresses = {{"scripted", "there"}};
    result.host = "elsewhere";
    result.born = born;
    return result;
  }

  void wait(Duration duration) {
    clock.advance(duration);
    members.poll();
  }

  ManualClock clock;
  ScriptedDriver driver;
  Entry self = entry("me", 1);
  Membership members{self, {.rejoin = {}, .lease = seconds(3)}, clock, {&driver}, *this};
  std::vector<std::string> events;

 private:
  void on_leaving(const Membership::Peer& peer) override {
    events.push_back(peer.member->name.str() + " leaves");
    EXPECT_TRUE(driver.connected.contains(peer.id)) << "too late to ask the driver";
  }
  void on_lost(const Membership::Peer& peer) override {
    events.push_back(peer.member->name.str() + " is lost");
  }
  void on_forgotten(Membership::Member& member) override {
    events.push_back(member.name.str() + " is forgotten");
  }
};

TEST_F(MembershipTest, KnowsWhoTheStoreListsAndItselfNot) {
  members.update({entry("b", 11), self, entry("a", 10)});
  EXPECT_THAT(members.names("actor"), ElementsAre("a", "b"));
  EXPECT_EQ(members.count("actor"), 2u);
  EXPECT_EQ(members.instance_of("a"), InstanceId(10));
  EXPECT_THAT(members.unknown("aa"), HasSubstr("known: a, b"));
}

TEST_F(MembershipTest, APeerThatIsNotListedFallsSilentAndComesBackAsItWas) {
  members.update({entry("a", 10)});
  members.update({});
  EXPECT_EQ(members.count("actor"), 1u) << "its last words are on their way";
  wait(seconds(1));
  EXPECT_EQ(members.count("actor"), 0u);
  EXPECT_THAT(events, ElementsAre("a is lost"));
  EXPECT_THAT(members.silent(), ElementsAre(Name("a")));
  EXPECT_THAT(Membership::absence_of(*members.find("a")), HasSubstr("silent and may come back"));
  members.update({entry("a", 10)});
  EXPECT_EQ(members.count("actor"), 1u);
  EXPECT_EQ(members.rejoins(), 1u);
  EXPECT_EQ(driver.connected.size(), 1u);
}

TEST_F(MembershipTest, ASilentPeerIsGoneAfterManyLeases) {
  members.update({entry("a", 10)});
  members.on_departure(members.find("a")->current->id, Departure::silent, "it is not heard");
  wait(seconds(59));
  EXPECT_NE(members.find("a")->current, nullptr);
  wait(seconds(2));
  EXPECT_EQ(members.find("a")->current, nullptr);
  EXPECT_THAT(events, ElementsAre("a is lost", "a leaves", "a is lost"));
  EXPECT_THAT(driver.connected, IsEmpty());
}

TEST_F(MembershipTest, AProcessThatEndedIsGoneAfterItsLastWordsWhateverIsHeardOfIt) {
  members.update({entry("a", 10)});
  members.process_exited(members.find("a")->current->id);
  members.update({entry("a", 10)});
  wait(milliseconds(49));
  EXPECT_EQ(members.count("actor"), 1u);
  wait(milliseconds(2));
  EXPECT_EQ(members.count("actor"), 0u);
  members.update({entry("a", 10)});
  EXPECT_EQ(members.count("actor"), 0u) << "the dead do not come back";
  EXPECT_THAT(Membership::absence_of(*members.find("a")), HasSubstr("gone (its process ended)"));
}

TEST_F(MembershipTest, ANewProcessTakesTheNameFromAnOldOneAndNotTheOtherWayRound) {
  members.update({entry("a", 10, 5)});
  EXPECT_TRUE(members.on_hello(entry("a", 20, 6)).has_value());
  EXPECT_EQ(members.instance_of("a"), InstanceId(20));
  EXPECT_THAT(events, ElementsAre("a leaves", "a is lost"));
  EXPECT_FALSE(members.on_hello(entry("a", 30, 4)).has_value());
  EXPECT_FALSE(members.on_hello(entry("a", 10, 5)).has_value());
  EXPECT_EQ(members.instance_of("a"), InstanceId(20));
}

TEST_F(MembershipTest, TellsOnceThatAPeerThatLivesForgotUs) {
  members.update({entry("a", 10)});
  EXPECT_FALSE(members.take_forgotten());
  members.on_departure(members.find("a")->current->id, Departure::reset, "it began anew");
  EXPECT_TRUE(members.take_forgotten());
  EXPECT_FALSE(members.take_forgotten());
  EXPECT_TRUE(members.on_hello(entry("a", 10)).has_value()) << "it may come back";
}

TEST_F(MembershipTest, HasMetWhoComesAndGoesBetweenTwoLooks) {
  driver.answers = false;
  members.update({entry("a", 10), entry("b", 20), entry("c", 30)});
  EXPECT_EQ(members.count_met("actor"), 0u);
  members.on_departure(members.find("a")->current->id, Departure::graceful, "it left");
  EXPECT_EQ(members.count_met("actor"), 1u);
  members.on_departure(members.find("b")->current->id, Departure::lost, "it never answered");
  EXPECT_EQ(members.count_met("actor"), 1u);
  driver.answers = true;
  members.on_departure(members.find("c")->current->id, Departure::lost, "it died");
  EXPECT_EQ(members.count_met("actor"), 2u);
}

TEST_F(MembershipTest, HoldsNobodyAfterItIsClosed) {
  members.update({entry("a", 10)});
  members.process_exited(members.find("a")->current->id);
  members.close();
  EXPECT_EQ(members.next_wakeup(), Deadline{});
  EXPECT_EQ(members.count("actor"), 0u);
  EXPECT_TRUE(members.drained());
}

}  // namespace
}  // namespace muster::comm
