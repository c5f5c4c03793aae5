#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "muster/comm/collective/call.h"

namespace muster::comm::collective {

/// The calls with one tag that were finished.
struct Finished {
  std::uint64_t calls = 0;
  SignatureWords last{};  ///< what the last of them was
  bool operator==(const Finished&) const = default;
};
/// Tags without any are left out.
using FinishedByTag = std::map<int, Finished>;
/// What those have finished that finished `some`, and those that finished `others`.
[[nodiscard]] FinishedByTag finished_by_both(const FinishedByTag& some,
                                             const FinishedByTag& others);

/// What one rank says in a ballot.
struct Vote {
  std::uint32_t round = 0;
  std::uint64_t bits = 0;
  FinishedByTag finished{};
};

struct Decision {
  std::uint32_t round = 0;
  std::uint64_t bits = 0;    ///< that all gave
  FinishedByTag finished{};  ///< by all
  std::vector<int> ranks{};  ///< that are there
};

/// How the ranks that are left agree, whoever is lost meanwhile. All of them take part in the same
/// rounds, one after the other. In each, every rank sends its vote to the lowest rank that it does
/// not know to be lost; that one decides when it has the votes of all that it does not know to be
/// lost, and tells them. When it is lost before all know, the ranks vote for the next one, and
/// whoever knows the decision answers with it: so there is one decision, as long as anybody who
/// knows it is left. What a lost rank says does not count.
///
/// A rank is lost for all as soon as one says so (`lose`, which the caller tells everybody).
/// Without threads or messages; not thread-safe.
class Ballot {
 public:
  struct Message {
    int to;
    std::optional<Vote> vote;
    std::optional<Decision> decision;
  };
  using Messages = std::vector<Message>;

  Ballot(int rank, int size);

  /// Takes part in the next round.
  Messages begin(std::uint64_t bits, FinishedByTag finished);
  Messages on_vote(int from, const Vote& vote);
  Messages on_decision(int from, const Decision& decision);
  Messages lose(int rank);

  /// Of the round that was begun last.
  [[nodiscard]] const std::optional<Decision>& decision() const { return decision_; }
  [[nodiscard]] const std::set<int>& lost() const { return lost_; }

 private:
  [[nodiscard]] int chair() const;
  Messages send_vote();
  Messages decide_if_possible();
  Messages announce();

  int rank_;
  int size_;
  std::uint32_t round_ = 0;
  std::optional<Vote> own_;                             // of this round
  std::optional<Decision> decision_;                    // of this round
  std::optional<Decision> last_;                        // of the round before
  std::map<std::uint32_t, std::map<int, Vote>> votes_;  // of this round and the next
  int voted_for_ = -1;                                  // who has our vote of this round
  std::set<int> lost_;
};

}  // namespace muster::comm::collective
