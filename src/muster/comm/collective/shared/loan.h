#pragma once

#include <bitset>
#include <chrono>
#include <cstring>
#include <span>

#include "muster/base/result.h"
#include "muster/comm/collective/shared/contest.h"
#include "muster/comm/collective/shared/task.h"

namespace muster::comm::collective::shared {

/// For calls whose blocks can be lent instead of staged. Who lends says at its first step where its
/// input lies, and nothing at the others; whoever takes reads its block then, as a whole, straight
/// out of that process, by a system call. Who lends waits until all have read.
///
/// Every rank follows the wish of one of those who take, the judge, but nobody relies on that: of
/// one call, some blocks may be lent and others staged.
class Loan {
 public:
  explicit Loan(const Task& task) : task_(task) {}

  /// What a rank takes of another: the part of its input that begins at `offset`.
  struct Block {
    std::size_t offset;
    std::span<std::byte> into;
  };

  /// Both ways are open to this call, if it is worth it: all ranks come to the same result. `input`
  /// is what this rank can lend, null if nothing. Returns whether it does.
  bool open(std::size_t block, int judge, const std::byte* input) {
    if (block < kLendFrom) return false;
    open_ = true;
    kind_ = kind_of(task_.call.operation, block);
    if (input != nullptr && task_.channel.wish(judge, kind_) == Way::lend)
      address_ = reinterpret_cast<std::uint64_t>(input);
    judges_ = task_.rank == judge;
    tries_ = judges_ && task_.channel.contest(kind_).tries();
    if (tries_) began_ = now();
    return lends();
  }
  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] bool lends() const { return address_ != 0; }
  [[nodiscard]] bool lent_by(int rank) const {
    return open_ && lenders_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] int lenders() const { return lender_count_; }
  /// The rank that is being read.
  [[nodiscard]] int source() const { return source_; }

  /// Puts into the line of the first step how this rank gives.
  void say() {
    if (!open_) return;
    std::memcpy(task_.channel.line(task_.first).payload + kAddressAt, &address_, sizeof address_);
  }

  /// The ranks in between have spoken: takes what `plan` wants of those that lend. False when a
  /// process is gone.
  template <class Plan>
  [[nodiscard]] Result<bool> take(Plan& plan) {
    lender_count_ = 0;
    // Beginning with the next rank, so that not all read from the same one.
    for (int i = 1; i < task_.ranks; ++i) {
      source_ = (task_.rank + i) % task_.ranks;
      if (source_ < plan.needs_from || source_ >= plan.needs_to) continue;
      const std::uint64_t address = address_of(source_);
      if (address == 0) continue;
      lenders_.set(static_cast<std::size_t>(source_));
      ++lender_count_;
      const Block block = plan.block_of(source_);
      auto read = task_.channel.segment().read(source_, address + block.offset, block.into);
      if (!read || !*read) return read;
    }
    return true;
  }
  /// The call is over; this rank took from so many others.
  void end(int others) {
    if (!judges_) return;
    if (lender_count_ != 0 && lender_count_ != others) return;  // some did not know what is wanted
    const Duration took = tries_ ? now() - began_ : Duration::max();
    task_.channel.note(kind_, lender_count_ == 0 ? Way::stage : Way::lend, took);
  }

 private:
  // Plans have a word of their own before it, see `Task::mark`.
  static constexpr std::size_t kAddressAt = 8;

  static TimePoint now() { return std::chrono::steady_clock::now(); }
  [[nodiscard]] std::uint64_t address_of(int rank) const {
    std::uint64_t address = 0;
    std::memcpy(&address, task_.channel.line(rank, task_.first).payload + kAddressAt,
                sizeof address);
    return address;
  }

  const Task& task_;  // of the plan that owns this
  bool open_ = false;
  bool judges_ = false;
  bool tries_ = false;  // and takes the time
  int source_ = -1;
  std::size_t kind_ = 0;
  std::uint64_t address_ = 0;  // of what this rank lends
  std::bitset<kMostRanks> lenders_;
  int lender_count_ = 0;
  TimePoint began_;
};

}  // namespace muster::comm::collective::shared
