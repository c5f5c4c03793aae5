#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/comm/collective/shared/plane.h"
#include "muster/comm/errc.h"

// How a group ends, and what its calls say then.

namespace muster::comm::collective::shared {

void SharedPlane::break_for_all(Verdict verdict) {
  std::uint64_t fine = 0;
  segment_->header().broken.compare_exchange_strong(fine, verdict.packed());
  wake_sleepers();
}

void SharedPlane::lose(int rank) {
  segment_->header().lost[rank / 64].fetch_or(std::uint64_t{1} << (rank % 64));
  break_for_all({Break::lost, rank, segment_->rank()});
}

void SharedPlane::leave() {
  const int rank = segment_->rank();
  segment_->header().left[rank / 64].fetch_or(std::uint64_t{1} << (rank % 64));
  wake_sleepers();
}

void SharedPlane::look_who_left(Operation& operation) {
  const int rank = operation.waits_for();
  if (rank < 0 || !segment_->has_left(rank)) return;
  // It may have done its part just before it left.
  if (carry_on(operation) == Progress::waiting && operation.waits_for() == rank)
    break_for_all({Break::left, rank, segment_->rank()});
}

std::vector<int> SharedPlane::lost() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < segment_->ranks(); ++rank)
    if ((segment_->header().lost[rank / 64].load() >> (rank % 64) & 1) != 0) ranks.push_back(rank);
  return ranks;
}

Error SharedPlane::differ(const Operation& operation, Lane& lane) {
  const Line& line = lane.channel.line(operation.other(), operation.position());
  Report& report = segment_->control(segment_->rank()).report;
  const auto mine = std::bit_cast<std::array<std::uint64_t, 2>>(operation.signature());
  std::copy(mine.begin(), mine.end(), report.mine);
  report.theirs[0] = line.what.load(std::memory_order_relaxed);
  report.theirs[1] = line.count.load(std::memory_order_relaxed);
  break_for_all({Break::mismatch, operation.other(), segment_->rank()});
  Error found = error();
  if (operation.detail().empty() || !found.is(Errc::mismatch)) return found;
  return {found.code(), fmt::format("{}: {}", found.message(), operation.detail())};
}

Error SharedPlane::give_up(std::string what, Errc errc) {
  break_for_all({Break::cancelled, segment_->rank(), segment_->rank()});
  return {make_error_code(errc), std::move(what)};
}

void SharedPlane::end_by_function(const char* what) {
  break_for_all({Break::function, segment_->rank(), segment_->rank()});
  const std::lock_guard lock(mutex_);
  // Here it is known what it said, also when another rank's function failed first.
  if (!error_)
    error_ = Error(make_error_code(Errc::function_failed),
                   fmt::format("the reduction function of rank {} of group '{}' failed: {}",
                               segment_->rank(), options_.group, what));
  ended_ = true;
}

Error SharedPlane::error() {
  const std::lock_guard lock(mutex_);
  if (closed_)
    return {make_error_code(Errc::closed), fmt::format("group '{}' is closed", options_.group)};
  if (!error_) error_ = describe(Verdict::unpack(segment_->header().broken.load()));
  ended_ = true;
  return *error_;
}

Error SharedPlane::describe(Verdict verdict) const {
  const auto make = [](Errc errc, std::string text) {
    return Error(make_error_code(errc), std::move(text));
  };
  const std::vector<int> lost = this->lost();
  const bool self = std::find(lost.begin(), lost.end(), segment_->rank()) != lost.end();
  if (self)
    return make(Errc::expelled,
                fmt::format("group '{}' went on without rank {}, which was silent for too long",
                            options_.group, segment_->rank()));
  switch (verdict.why) {
    case Break::lost:
      return make(
          Errc::rank_lost,
          fmt::format("rank {} of group '{}' {} lost: killed, paused or cut off",
                      fmt::join(lost, ", "), options_.group, lost.size() == 1 ? "is" : "are"));
    case Break::left:
      return make(Errc::rank_lost,
                  fmt::format("rank {} left group '{}'", verdict.rank, options_.group));
    case Break::cancelled:
      return make(Errc::cancelled, fmt::format("rank {} of group '{}' gave up a call", verdict.rank,
                                               options_.group));
    case Break::function:
      return make(Errc::function_failed,
                  fmt::format("the reduction function of rank {} of group '{}' failed",
                              verdict.rank, options_.group));
    case Break::mismatch: {
      const Report& report = segment_->control(verdict.reporter).report;
      const auto signature = [](const std::uint64_t(&words)[2]) {
        return std::bit_cast<Signature>(std::array<std::uint64_t, 2>{words[0], words[1]});
      };
      return make(Errc::mismatch,
                  fmt::format("the ranks of group '{}' differ: {}", options_.group,
                              difference(verdict.rank, signature(report.theirs), verdict.reporter,
                                         signature(report.mine))));
    }
    case Break::none: break;
  }
  return make(Errc::internal, fmt::format("group '{}' has ended", options_.group));
}

void SharedPlane::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    ended_ = true;
  }
  wake_sleepers();
  for (const auto& slot : lanes_) {
    Lane* const lane = slot.load(std::memory_order_acquire);
    if (lane == nullptr) continue;
    const std::lock_guard held(lane->owner);
    fail_all(*lane, error());
  }
}

}  // namespace muster::comm::collective::shared
