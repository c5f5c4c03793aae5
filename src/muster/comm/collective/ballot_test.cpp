#include "muster/comm/collective/ballot.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::comm::collective {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Ballot, AloneDecidesAtOnce) {
  Ballot ballot(0, 1);
  EXPECT_THAT(ballot.begin(6, {{0, {3, {7, 8}}}}), IsEmpty());
  ASSERT_TRUE(ballot.decision());
  EXPECT_EQ(ballot.decision()->bits, 6u);
  EXPECT_EQ(ballot.decision()->finished, (FinishedByTag{{0, {3, {7, 8}}}}));
}

TEST(Ballot, DecidesWhatAllHaveInCommon) {
  Ballot chair(0, 2);
  Ballot other(1, 2);
  EXPECT_THAT(chair.begin(6, {{0, {5, {15, 0}}}, {1, {1, {21, 0}}}, {2, {4, {34, 0}}}}), IsEmpty());
  const auto votes = other.begin(3, {{0, {4, {14, 0}}}, {2, {6, {36, 0}}}, {3, {1, {41, 0}}}});
  ASSERT_EQ(votes.size(), 1u);
  const auto decisions = chair.on_vote(1, *votes[0].vote);
  ASSERT_EQ(decisions.size(), 1u);
  static_cast<void>(other.on_decision(0, *decisions[0].decision));
  EXPECT_EQ(other.decision()->bits, 2u);
  // Of each tag the fewer calls, and what the last of those was.
  EXPECT_EQ(other.decision()->finished, (FinishedByTag{{0, {4, {14, 0}}}, {2, {4, {34, 0}}}}));
  EXPECT_THAT(other.decision()->ranks, ElementsAre(0, 1));
}

TEST(Ballot, TheNextRankDecidesWhenTheChairIsLost) {
  Ballot second(1, 3);
  Ballot third(2, 3);
  static_cast<void>(second.begin(1, {}));
  static_cast<void>(third.begin(1, {}));
  EXPECT_THAT(second.lose(0), IsEmpty());
  const auto votes = third.lose(0);
  ASSERT_EQ(votes.size(), 1u);
  EXPECT_EQ(votes[0].to, 1);
  const auto decisions = second.on_vote(2, *votes[0].vote);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_THAT(second.decision()->ranks, ElementsAre(1, 2));
}

TEST(Ballot, WhoKnowsTheDecisionOfALostChairTellsTheNext) {
  Ballot second(1, 3);
  Ballot third(2, 3);
  static_cast<void>(second.begin(1, {}));
  static_cast<void>(third.begin(1, {}));
  static_cast<void>(third.on_decision(0, {1, 1, {}, {0, 1, 2}}));
  static_cast<void>(second.lose(0));
  EXPECT_FALSE(second.decision());
  const auto told = third.lose(0);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].to, 1);
  static_cast<void>(second.on_decision(2, told[0].decision.value()));
  EXPECT_THAT(second.decision()->ranks, ElementsAre(0, 1, 2));
}

/// Ranks whose messages are delivered in any order between different pairs, and of which some are
/// lost at any moment, each noticed by all the others at different times.
class World {
 public:
  World(int size, std::uint64_t seed) : random_(seed) {
    for (int rank = 0; rank < size; ++rank) ballots_.emplace_back(rank, size);
    alive_.assign(ballots_.size(), true);
    lines_.resize(ballots_.size() * ballots_.size());
  }

  void play(int rounds, int deaths) {
    for (int rank = 0; rank < size(); ++rank) begin(rank);
    for (int step = 0; step < 100'000; ++step) {
      if (deaths > 0 && random_() % 20 == 0 && living() > 1) {
        --deaths;
        die();
      }
      if (!deliver_one() && !begin_next(rounds) && !notice_one()) return;
    }
    FAIL() << "does not end";
  }

  [[nodiscard]] const std::vector<std::map<std::uint32_t, Decision>>& decisions() const {
    return decisions_;
  }
  [[nodiscard]] bool alive(int rank) const { return alive_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int size() const { return static_cast<int>(ballots_.size()); }

 private:
  struct Item {
    std::optional<Ballot::Message> message;
    int lost = -1;
  };

  [[nodiscard]] int living() const {
    return static_cast<int>(std::count(alive_.begin(), alive_.end(), true));
  }
  std::deque<Item>& line(int from, int to) {
    return lines_[static_cast<std::size_t>(from * size() + to)];
  }
  void begin(int rank) {
    decisions_.resize(ballots_.size());
    post(rank, ballots_[static_cast<std::size_t>(rank)].begin(random_(),
                                                              {{0, {1 + random_() % 100, {}}}}));
    note(rank);
  }
  bool begin_next(int rounds) {
    for (int rank = 0; rank < size(); ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      if (!alive_[at] || !ballots_[at].decision() ||
          decisions_[at].size() >= static_cast<std::size_t>(rounds))
        continue;
      begin(rank);
      return true;
    }
    return false;
  }
  void post(int from, const Ballot::Messages& messages) {
    for (const auto& message : messages) line(from, message.to).push_back({message});
  }
  void note(int rank) {
    const auto& decision = ballots_[static_cast<std::size_t>(rank)].decision();
    if (decision) decisions_[static_cast<std::size_t>(rank)].emplace(decision->round, *decision);
  }
  void die() {
    int rank = static_cast<int>(random_() % ballots_.size());
    while (!alive(rank)) rank = (rank + 1) % size();
    alive_[static_cast<std::size_t>(rank)] = false;
    unnoticed_.push_back(rank);
  }
  // One rank notices, and tells all others.
  bool notice_one() {
    if (unnoticed_.empty()) return false;
    const int lost = unnoticed_.back();
    unnoticed_.pop_back();
    for (int rank = 0; rank < size(); ++rank) {
      if (!alive(rank)) continue;
      lose(rank, lost);
      break;
    }
    return true;
  }
  void lose(int rank, int lost) {
    Ballot& ballot = ballots_[static_cast<std::size_t>(rank)];
    if (ballot.lost().contains(lost)) return;
    post(rank, ballot.lose(lost));
    for (int to = 0; to < size(); ++to)
      if (to != rank) line(rank, to).push_back({{}, lost});
    note(rank);
  }
  bool deliver_one() {
    const std::size_t start = random_() % lines_.size();
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::size_t at = (start + i) % lines_.size();
      if (lines_[at].empty()) continue;
      const Item item = lines_[at].front();
      lines_[at].pop_front();
      const int from = static_cast<int>(at) / size();
      const int to = static_cast<int>(at) % size();
      if (alive(to)) take(from, to, item);
      return true;
    }
    return false;
  }
  void take(int from, int to, const Item& item) {
    Ballot& ballot = ballots_[static_cast<std::size_t>(to)];
    if (item.lost >= 0) return lose(to, item.lost);
    if (ballot.lost().contains(from)) return;
    if (item.message->vote) post(to, ballot.on_vote(from, *item.message->vote));
    if (item.message->decision) post(to, ballot.on_decision(from, *item.message->decision));
    note(to);
  }

  std::mt19937_64 random_;
  std::vector<Ballot> ballots_;
  std::vector<bool> alive_;
  std::vector<std::deque<Item>> lines_;
  std::vector<std::map<std::uint32_t, Decision>> decisions_;
  std::vector<int> unnoticed_;
};

TEST(Ballot, SurvivorsDecideTheSameWhoeverIsLostMeanwhile) {
  const std::uint64_t seed = 1;
  constexpr int kRounds = 4;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    World world(2 + static_cast<int>(i % 6), seed + i);
    world.play(kRounds, static_cast<int>(i % 5));
    std::map<std::uint32_t, Decision> common;
    for (int rank = 0; rank < world.size(); ++rank) {
      if (!world.alive(rank)) continue;
      const auto& decisions = world.decisions()[static_cast<std::size_t>(rank)];
      ASSERT_EQ(decisions.size(), static_cast<std::size_t>(kRounds))
          << "rank " << rank << " waits for ever, seed " << seed + i;
      for (const auto& [round, decision] : decisions) {
        const auto& first = common.emplace(round, decision).first->second;
        ASSERT_EQ(decision.bits, first.bits) << "seed " << seed + i;
        ASSERT_EQ(decision.finished, first.finished) << "seed " << seed + i;
        ASSERT_EQ(decision.ranks, first.ranks) << "seed " << seed + i;
      }
    }
  }
}

}  // namespace
}  // namespace muster::comm::collective
