#include "muster/comm/collective/ballot.h"

#include <utility>

namespace muster::comm::collective {

FinishedByTag finished_by_both(const FinishedByTag& some, const FinishedByTag& others) {
  FinishedByTag both;
  for (const auto& [tag, own] : some) {
    const auto other = others.find(tag);
    if (other == others.end()) continue;
    both[tag] = other->second.calls < own.calls ? other->second : own;
  }
  return both;
}

Ballot::Ballot(int rank, int size) : rank_(rank), size_(size) {}

int Ballot::chair() const {
  int rank = 0;
  while (lost_.contains(rank)) ++rank;
  return rank;
}

Ballot::Messages Ballot::begin(std::uint64_t bits, FinishedByTag finished) {
  votes_.erase(round_);
  ++round_;
  last_ = std::move(decision_);
  decision_.reset();
  own_ = Vote{round_, bits, std::move(finished)};
  voted_for_ = -1;
  return send_vote();
}

Ballot::Messages Ballot::send_vote() {
  if (!own_ || decision_) return {};
  const int to = chair();
  if (to == rank_) {
    votes_[round_][rank_] = *own_;
    return decide_if_possible();
  }
  if (std::exchange(voted_for_, to) == to) return {};
  return {{to, own_, {}}};
}

Ballot::Messages Ballot::on_vote(int from, const Vote& vote) {
  if (lost_.contains(from)) return {};
  if (decision_ && vote.round == round_) return {{from, {}, decision_}};
  if (last_ && vote.round == last_->round) return {{from, {}, last_}};
  if (vote.round < round_) return {};
  votes_[vote.round][from] = vote;
  return decide_if_possible();
}

Ballot::Messages Ballot::decide_if_possible() {
  if (!own_ || decision_ || chair() != rank_) return {};
  const auto& votes = votes_[round_];
  Decision decision{round_, own_->bits, own_->finished, {}};
  for (int rank = 0; rank < size_; ++rank) {
    if (lost_.contains(rank)) continue;
    const auto it = votes.find(rank);
    if (it == votes.end()) return {};
    decision.bits &= it->second.bits;
    decision.finished = finished_by_both(decision.finished, it->second.finished);
    decision.ranks.push_back(rank);
  }
  decision_ = std::move(decision);
  return announce();
}

Ballot::Messages Ballot::announce() {
  Messages messages;
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_ && !lost_.contains(rank)) messages.push_back({rank, {}, decision_});
  return messages;
}

Ballot::Messages Ballot::on_decision(int from, const Decision& decision) {
  if (lost_.contains(from) || decision_ || decision.round != round_) return {};
  decision_ = decision;
  // The chair learned it from somebody who had it from a chair that is lost.
  if (chair() == rank_) return announce();
  return {};
}

Ballot::Messages Ballot::lose(int rank) {
  if (rank == rank_ || !lost_.insert(rank).second) return {};
  Messages messages = send_vote();
  // The next chair may wait for the vote of somebody who has the decision already.
  const int to = chair();
  for (const auto& known : {last_, decision_})
    if (known && to != rank_) messages.push_back({to, {}, known});
  if (decision_ && to == rank_) {
    for (auto& message : announce()) messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace muster::comm::collective
