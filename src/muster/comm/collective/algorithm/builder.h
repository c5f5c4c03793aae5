#pragma once

#include <cstddef>
#include <vector>

#include "muster/comm/collective/schedule.h"

namespace muster::comm::collective {

/// Puts a schedule together, round after round. What is added goes into the last round that was
/// begun.
class Builder {
 public:
  /// Memory for this schedule alone.
  [[nodiscard]] Region scratch(std::size_t bytes);

  void round() { schedule_.rounds.emplace_back(); }
  void send(int to, const Region& data) { last().sends.push_back({to, data}); }
  void receive(int from, const Region& into) { last().receives.push_back({from, into}); }

  /// Work beside the messages of the round.
  void copy_meanwhile(const Region& into, const Region& from) {
    if (into != from) last().meanwhile.push_back({Local::Kind::copy, into, from});
  }
  void reduce_meanwhile(const Region& into, const Region& left, const Region& right) {
    last().meanwhile.push_back({Local::Kind::reduce, into, left, right});
  }

  /// Work after the messages of the round.
  void copy(const Region& into, const Region& from) {
    if (into != from) last().then.push_back({Local::Kind::copy, into, from});
  }
  /// Of several rows, none of which overlaps another or what is read.
  void copy(const Region& first_into, const Region& first, const Rows& rows) {
    last().then.push_back({Local::Kind::copy, first_into, first, {}, 1, rows});
  }
  void reduce(const Region& into, const Region& left, const Region& right) {
    last().then.push_back({Local::Kind::reduce, into, left, right});
  }

  /// Adds the rounds of a schedule for fewer ranks: its rank i is `ranks[i]`, and its two buffers
  /// are these regions.
  void embed(const Schedule& part, const std::vector<int>& ranks, const Region& input,
             const Region& output);

  [[nodiscard]] Schedule take() { return std::move(schedule_); }

 private:
  Round& last() {
    if (schedule_.rounds.empty()) round();
    return schedule_.rounds.back();
  }

  Schedule schedule_;
};

/// `bytes` of the rank's input from `offset`. In place that is its output, so that overlaps can be
/// seen.
[[nodiscard]] inline Region input(const Call& call, std::size_t offset, std::size_t bytes) {
  return {call.in_place() ? Space::output : Space::input, offset, bytes};
}
[[nodiscard]] inline Region output(std::size_t offset, std::size_t bytes) {
  return {Space::output, offset, bytes};
}
/// Block by block, in bytes.
[[nodiscard]] inline Region block(Region base, const Blocks& blocks, int index) {
  const auto i = static_cast<std::size_t>(index);
  return {base.space, base.offset + blocks.start(i), blocks.bytes(i)};
}
/// Blocks first … last-1.
[[nodiscard]] inline Region block(Region base, const Blocks& blocks, int first, int last) {
  const auto i = static_cast<std::size_t>(first);
  return {base.space, base.offset + blocks.start(i),
          blocks.bytes(i, static_cast<std::size_t>(last))};
}

/// x modulo n, never negative.
[[nodiscard]] constexpr int wrap(int x, int n) { return ((x % n) + n) % n; }

[[nodiscard]] inline std::size_t count_bytes(const Call& call) {
  return call.count * item_size(call.element);
}

/// Splits a region into parts of whole items for a pipeline, as evenly as possible.
[[nodiscard]] std::vector<Region> segments(const Region& region, std::size_t parts,
                                           std::size_t item_size);
/// How many parts a message of `bytes` is sent in, so that the work on one goes beside the transfer
/// of the next.
[[nodiscard]] std::size_t segment_count(std::size_t bytes);

}  // namespace muster::comm::collective
