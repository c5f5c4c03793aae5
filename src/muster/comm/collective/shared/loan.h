#pragma once

#include <bitset>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>

#include "muster/base/result.h"
#include "muster/comm/collective/shared/contest.h"
#include "muster/comm/collective/shared/task.h"

namespace muster::comm::collective::shared {

/// For calls whose blocks can be lent instead of staged, or staged past the cache. Who lends says
/// at its first step where its input lies, and nothing at the others; whoever takes reads its block
/// straight out of that process, by a system call, or out of its arena: as a whole, or, where it is
/// combined, piece by piece. Who lends waits until all have read.
///
/// Every rank follows the wish of one of those who take, the judge, unless the table settles the
/// way. But nobody relies on that: of one call, some blocks may be lent and others staged.
class Loan {
 public:
  explicit Loan(const Task& task) : task_(task) {}

  /// What a rank takes of another: the part of its input that begins at `offset`.
  struct Block {
    std::size_t offset;
    std::span<std::byte> into;
  };

  /// All ways are open to this call, if it is worth it: all ranks come to the same result. `input`
  /// is what this rank can lend, empty if nothing. Returns whether it does.
  bool open(std::size_t block, int judge, std::span<const std::byte> input) {
    return is_worth_it(block, task_.ranks) && begin(block, judge, input);
  }
  [[nodiscard]] static bool is_worth_it(std::size_t block, int ranks) {
    return block >= kLendFrom && ranks > 1;
  }
  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] bool lends() const { return address_ != 0; }
  /// Whether what is staged goes past the cache.
  [[nodiscard]] bool streams() const { return open_ && wish_ == Way::stream; }
  [[nodiscard]] bool lent_by(int rank) const {
    return open_ && lenders_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] int lenders() const { return lender_count_; }
  /// The rank that is being read.
  [[nodiscard]] int source() const { return source_; }

  /// Puts into the line of the first step how this rank gives.
  void say() {
    if (!open_) return;
    std::memcpy(task_.channel.line(task_.first).note + kAddressAt, &address_, sizeof address_);
  }

  /// The ranks from `begin` to `end` have spoken.
  void find_lenders(int begin, int end) {
    lender_count_ = 0;
    for (int rank = begin; rank < end; ++rank) {
      if (rank == task_.rank || address_of(rank) == 0) continue;
      in_arena_ = in_arena_ || (address_of(rank) & Task::kInArena) != 0;
      lenders_.set(static_cast<std::size_t>(rank));
      ++lender_count_;
    }
  }
  /// Reads a part of what a rank lends.
  [[nodiscard]] Result<void> read(int rank, const Block& block) {
    source_ = rank;
    return task_.read(rank, address_of(rank), block.offset, block.into);
  }
  /// Takes what `plan` wants of those that lend.
  template <class Plan>
  [[nodiscard]] Result<void> take(const Plan& plan) {
    // Beginning with the next rank, so that not all read from the same one.
    for (int i = 1; i < task_.ranks; ++i) {
      const int rank = (task_.rank + i) % task_.ranks;
      if (!lent_by(rank)) continue;
      if (auto took = read(rank, plan.block_of(rank)); !took) return took;
    }
    return {};
  }
  /// For those who cannot read what this rank lends.
  void lend_copy() {
    std::memcpy(task_.channel.copy_room(input_.size()), input_.data(), input_.size());
    task_.channel.lend_copy(task_.first);
  }
  /// The call is over. It counts for what was wished, even if not all followed: those who did not
  /// know yet do so in the first lap, which does not count, and those who work in place cannot
  /// lend, and stage instead. What was read in an arena tells nothing.
  void end() {
    const bool read_in_arena = in_arena_ || (task_.borrowed && lender_count_ == 0);
    if (judges_ && !read_in_arena) task_.channel.note(kind_, wish_, block_, now() - began_);
  }

 private:
  // Plans have a word of their own before it, see `Task::mark`.
  static constexpr std::size_t kAddressAt = 8;

  // Not where small calls go by.
  [[gnu::noinline]] bool begin(std::size_t block, int judge, std::span<const std::byte> input) {
    open_ = true;
    kind_ = kind_of(task_.call.operation, block);
    block_ = block;
    const std::optional<Way> settled = task_.channel.settled(task_.call.operation, block);
    wish_ = settled ? *settled : task_.channel.wish(judge, kind_);
    if (!input.empty()) lend(input);
    judges_ = task_.rank == judge && !settled;
    if (judges_) began_ = now();
    return lends();
  }
  /// What lies in the arena is lent whatever is wished: others read it without a system call.
  void lend(std::span<const std::byte> input) {
    const auto offset = task_.channel.segment().arena_offset(input.data(), input.size());
    if (offset) {
      address_ = Task::kInArena | *offset;
    } else if (wish_ == Way::lend) {
      address_ = reinterpret_cast<std::uint64_t>(input.data());
    }
    in_arena_ = offset.has_value();
    input_ = input;
  }
  static TimePoint now() { return std::chrono::steady_clock::now(); }
  [[nodiscard]] std::uint64_t address_of(int rank) const {
    std::uint64_t address = 0;
    std::memcpy(&address, task_.channel.line(rank, task_.first).note + kAddressAt, sizeof address);
    return address;
  }

  const Task& task_;  // of the plan that owns this
  bool open_ = false;
  bool judges_ = false;
  bool in_arena_ = false;  // what this rank or another lends
  Way wish_ = Way::stage;
  int source_ = -1;
  std::size_t kind_ = 0;
  std::size_t block_ = 0;
  std::span<const std::byte> input_;  // what this rank can lend
  std::uint64_t address_ = 0;         // of it, when it does
  std::bitset<kMostRanks> lenders_;
  int lender_count_ = 0;
  TimePoint began_;
};

}  // namespace muster::comm::collective::shared
