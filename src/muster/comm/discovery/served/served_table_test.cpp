#include "muster/comm/discovery/served/served_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::comm::served {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{seconds(1000)};
};

struct ServedTableTest : testing::Test {
  Parts ask(Parts arguments, const std::string& peer = "p") {
    arguments.insert(arguments.begin(), {std::string(kProtocol), "7"});
    const auto said = table.take({peer, std::move(arguments)});
    return said ? said->parts : Parts{};
  }
  Parts put(const Entry& put_in, const std::string& rank = "0",
            const std::string& lease = "3000000") {
    return ask({"put", "g", put_in.to_json(), lease, rank});
  }

  ManualClock clock;
  std::shared_ptr<MemoryBoard> board = std::make_shared<MemoryBoard>(clock, 100);
  ServedTable table{board, clock, "b"};
  Entry entry = local_entry("a", "actor");
};

TEST_F(ServedTableTest, AnswersWithTheIdOfTheRequest) {
  EXPECT_THAT(ask({"ping", ""}), ElementsAre("7", "ok"));
  EXPECT_THAT(put(entry), ElementsAre("7", "ok", "101"));
  EXPECT_THAT(ask({"list", "g"}), ElementsAre("7", "ok", "b", "1", entry.to_json()));
}

TEST_F(ServedTableTest, NamesTheHolderOfATakenName) {
  const Entry fresh = local_entry("a", "actor");
  EXPECT_THAT(put(entry), ElementsAre("7", "ok", "101"));
  EXPECT_THAT(put(fresh), ElementsAre("7", "ok", "102"));
  EXPECT_THAT(put(entry, "101"), ElementsAre("7", "taken", fresh.to_json()));
}

TEST_F(ServedTableTest, ARankFromBeforeARestartStaysBelowNewOnes) {
  EXPECT_THAT(put(entry, "5000"), ElementsAre("7", "ok", "5000"));
  EXPECT_THAT(put(local_entry("a", "actor")), ElementsAre("7", "ok", "5001"));
}

TEST_F(ServedTableTest, AWaitIsAnsweredByAChange) {
  put(entry);
  EXPECT_THAT(ask({"wait", "g", "b", "1", "60000000"}, "q"), IsEmpty());
  EXPECT_THAT(table.look(), IsEmpty());
  put(local_entry("c", "actor"));
  const auto answers = table.look();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].peer, "q");
  EXPECT_THAT(answers[0].parts, ElementsAre("7", "changed"));
  EXPECT_THAT(table.look(), IsEmpty());
}

TEST_F(ServedTableTest, AWaitIsAnsweredWhenALeaseEnds) {
  put(entry);
  ask({"wait", "g", "b", "1", "60000000"});
  EXPECT_EQ(table.next_look(), clock.now() + seconds(3));
  clock.advance(seconds(3));
  ASSERT_EQ(table.look().size(), 1u);
  EXPECT_EQ(table.next_look(), TimePoint::max());
}

TEST_F(ServedTableTest, AWaitIsAnsweredAtItsEnd) {
  ask({"wait", "g", "b", "0", "5000"});
  clock.advance(milliseconds(5));
  const auto answers = table.look();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THAT(answers[0].parts, ElementsAre("7", "same"));
}

TEST_F(ServedTableTest, AWaitFromBeforeARestartEndsAtOnce) {
  EXPECT_THAT(ask({"wait", "g", "older", "0", "60000000"}), ElementsAre("7", "changed"));
}

TEST_F(ServedTableTest, TheNextWaitOfAConnectionReplacesTheOneBefore) {
  ask({"wait", "g", "b", "0", "60000000"});
  ask({"wait", "g", "b", "0", "60000000"});
  put(entry);
  EXPECT_EQ(table.look().size(), 1u);
}

struct SmallTableTest : ServedTableTest {
  ServedTable small{
      board, clock, "b", {.groups = 2, .entries = 3, .entry_bytes = 2000, .waits = 1}};

  Parts put_small(const std::string& group, const Entry& member) {
    const auto said = small.take(
        {"p", {std::string(kProtocol), "7", "put", group, member.to_json(), "3000000", "0"}});
    return said ? said->parts : Parts{};
  }
};

TEST_F(SmallTableTest, RefusesMoreMembersThanItMayHave) {
  for (const char* name : {"a", "b", "c"})
    EXPECT_EQ(put_small("g", local_entry(name, "actor")).at(1), "ok");
  EXPECT_THAT(put_small("g", local_entry("d", "actor")),
              ElementsAre("7", "full", "3 members are the most"));
  EXPECT_EQ(put_small("g", local_entry("a", "actor")).at(1), "ok") << "in the place of another";
  EXPECT_EQ(small.refused(), 1u);
  clock.advance(seconds(4));
  EXPECT_EQ(put_small("g", local_entry("d", "actor")).at(1), "ok") << "leases ended";
}

TEST_F(SmallTableTest, RefusesMoreGroupsThanItMayHave) {
  EXPECT_EQ(put_small("g", local_entry("a", "actor")).at(1), "ok");
  EXPECT_EQ(put_small("h", local_entry("a", "actor")).at(1), "ok");
  EXPECT_THAT(put_small("i", local_entry("a", "actor")),
              ElementsAre("7", "full", "2 groups are the most"));
}

TEST_F(SmallTableTest, RefusesAnEntryThatIsTooLong) {
  Entry large = local_entry("a", "actor");
  large.addresses["zmq"] = std::string(2000, 'x');
  const Parts said = put_small("g", large);
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[1], "full");
  EXPECT_THAT(said[2], testing::HasSubstr("2000 are the most"));
}

TEST_F(SmallTableTest, AnswersWaitsAtOnceThatAreTooMany) {
  const Parts wait{std::string(kProtocol), "7", "wait", "g", "b", "0", "60000000"};
  EXPECT_FALSE(small.take({"p", wait}));
  const auto said = small.take({"q", wait});
  ASSERT_TRUE(said);
  EXPECT_THAT(said->parts, ElementsAre("7", "same"));
  EXPECT_FALSE(small.take({"p", wait})) << "instead of the one before";
}

TEST_F(ServedTableTest, GroupsThatAreOnlyAskedForAreNotRemembered) {
  for (int i = 0; i < 10; ++i) {
    ask({"list", std::to_string(i)});
    ask({"remove", std::to_string(i), "a", "1"});
  }
  EXPECT_EQ(board->size_with("g", "a").groups, 1u);
}

TEST_F(ServedTableTest, DropsAndCountsWhatItCannotRead) {
  const std::string json = entry.to_json();
  const std::vector<Parts> bad{{},
                               {"ping"},
                               {"dance", "g"},
                               {"ping", "g", "more"},
                               {"ping", std::string(5000, 'g')},
                               {"put", "g", json, "1"},
                               {"put", "g", "{}", "1", "0"},
                               {"put", "g", json, "-1", "0"},
                               {"put", "g", json, "99999999999999999", "0"},
                               {"put", "g", json, "1", "18446744073709551615"},
                               {"put", "g", json, "1", "0x1"},
                               {"remove", "g", "", "1"},
                               {"remove", "g", "a", "no"},
                               {"list", "g", "x"},
                               {"wait", "g", "b", "", "1"},
                               {"wait", "g", "b", "0", "soon"}};
  for (const Parts& request : bad) EXPECT_THAT(ask(request), IsEmpty());
  EXPECT_EQ(table.malformed(), bad.size());
  EXPECT_FALSE(table.take({"p", {"GET / HTTP/1.1", "7", "ping", ""}}));
  EXPECT_EQ(table.malformed(), bad.size() + 1);
  EXPECT_THAT(board->list("g").entries, IsEmpty());
}

}  // namespace
}  // namespace muster::comm::served
