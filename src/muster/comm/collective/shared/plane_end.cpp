#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/comm/collective/shared/plane.h"
#include "muster/comm/errc.h"

// How a group ends, and what its calls say then.

namespace muster::comm::collective::shared {
namespace {

/// As much as a report can hold, without a part of a character at the end.
std::string_view first_words(std::string_view text) {
  if (text.size() <= kReportBytes) return text;
  const auto goes_on = [&](std::size_t at) { return (text[at] & 0xc0) == 0x80; };
  std::size_t end = kReportBytes;
  while (end > 0 && goes_on(end)) --end;
  return text.substr(0, end);
}

}  // namespace

void SharedPlane::break_for_all(Verdict verdict) {
  std::uint64_t fine = 0;
  segment_->header().broken.compare_exchange_strong(fine, verdict.packed());
  wake_sleepers();
}

void SharedPlane::end_with(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (broken()) return;
  const bool ours = error.code().category() == make_error_code(Errc::internal).category();
  Report& report = segment_->control(segment_->rank()).report;
  report.code = static_cast<std::int32_t>(ours ? error.code().value()
                                               : make_error_code(Errc::internal).value());
  const std::string_view words = first_words(error.message());
  std::fill(std::copy(words.begin(), words.end(), report.words), std::end(report.words), '\0');
  break_for_all({Break::told, segment_->rank(), segment_->rank()});
}

void SharedPlane::lose(int rank) {
  segment_->header().lost[rank / 64].fetch_or(std::uint64_t{1} << (rank % 64));
  break_for_all({Break::lost, rank, segment_->rank()});
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
  const std::array<std::uint64_t, 2> theirs{line.what.load(std::memory_order_relaxed),
                                            line.count.load(std::memory_order_relaxed)};
  if (!operation.detail().empty()) {
    end_with(differ(operation.other(), std::bit_cast<Signature>(theirs), segment_->rank(),
                    operation.signature(), ": " + operation.detail()));
    return error();
  }
  {
    const std::lock_guard lock(mutex_);
    if (!broken()) {
      Report& report = segment_->control(segment_->rank()).report;
      const auto mine = std::bit_cast<SignatureWords>(operation.signature());
      std::copy(mine.begin(), mine.end(), report.mine);
      std::copy(theirs.begin(), theirs.end(), report.theirs);
      break_for_all({Break::mismatch, operation.other(), segment_->rank()});
    }
  }
  return error();
}

Error SharedPlane::differ(int rank, const Signature& its, int other, const Signature& others,
                          const std::string& detail) const {
  return {make_error_code(Errc::mismatch),
          fmt::format("the ranks of group '{}' differ: {}{}", options_.group,
                      difference(rank, its, other, others), detail)};
}

void SharedPlane::give_up_for_all(const Signature& call) {
  end_with({make_error_code(Errc::cancelled),
            fmt::format("rank {} of group '{}' gave up {}", segment_->rank(), options_.group,
                        collective::describe(call))});
}

Error SharedPlane::give_up(const Signature& call, std::string what, Errc errc) {
  give_up_for_all(call);
  static_cast<void>(error());  // for the next call, which must not begin where this one stopped
  return {make_error_code(errc), std::move(what)};
}

void SharedPlane::abandon(const Operation& operation) {
  if (operation.is_lending()) break_for_all({Break::left, segment_->rank(), segment_->rank()});
}

void SharedPlane::end_because(Progress progress, const Operation& operation) {
  if (progress == Progress::failed) return end_by(Break::failed, operation.detail().c_str());
  // Who left while it lent something has ended the group.
  if (!segment_->has_left(operation.other())) lose(operation.other());
}

void SharedPlane::end_by(Break why, const char* what) {
  const Verdict verdict{why, segment_->rank(), segment_->rank()};
  // Held, so that nobody here sees that the group has ended before there are words for it.
  const std::lock_guard lock(mutex_);
  break_for_all(verdict);
  // Others may have ended it before, which may be why this rank could not go on. What a function
  // did is told here all the same.
  const std::uint64_t broken = segment_->header().broken.load();
  const bool told = broken == verdict.packed() || why == Break::function;
  Error error = describe(told ? verdict : Verdict::unpack(broken));
  if (told) error = Error(error.code(), fmt::format("{}: {}", error.message(), what));
  if (!error_) error_ = std::move(error);
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
    case Break::function:
      return make(Errc::function_failed,
                  fmt::format("the reduction function of rank {} of group '{}' failed",
                              verdict.rank, options_.group));
    case Break::failed:
      return make(Errc::internal,
                  fmt::format("rank {} of group '{}' cannot go on", verdict.rank, options_.group));
    case Break::mismatch: {
      const Report& report = segment_->control(verdict.reporter).report;
      const auto signature = [](const std::uint64_t(&words)[2]) {
        return std::bit_cast<Signature>(std::array<std::uint64_t, 2>{words[0], words[1]});
      };
      return differ(verdict.rank, signature(report.theirs), verdict.reporter,
                    signature(report.mine));
    }
    case Break::told: {
      const Report& report = segment_->control(verdict.reporter).report;
      return make(static_cast<Errc>(report.code),
                  std::string(report.words, ::strnlen(report.words, kReportBytes)));
    }
    case Break::none: break;
  }
  return make(Errc::internal, fmt::format("group '{}' has ended", options_.group));
}

void SharedPlane::refuse_calls() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  ended_ = true;
}

void SharedPlane::close() {
  closing_.emplace(options_.door);
  refuse_calls();
  wake_sleepers();
  for (const auto& slot : lanes_) {
    Lane* const lane = slot.load(std::memory_order_acquire);
    if (lane == nullptr || !lane->owner.held_here()) continue;
    lane->closed_inside = true;
    ++calls_around_close_;
  }
  if (calls_around_close_ == 0) close_lanes();
}

void SharedPlane::end_call_around_close() {
  if (--calls_around_close_ == 0) close_lanes();
}

void SharedPlane::close_lanes() {
  for (const auto& slot : lanes_) {
    Lane* const lane = slot.load(std::memory_order_acquire);
    if (lane == nullptr || fail_queue(*lane)) continue;
    return options_.do_later([self = shared_from_this()] { self->close_lanes(); });
  }
  // Only now: nothing that others gave is read any more, and they may use its place again.
  const int rank = segment_->rank();
  segment_->header().left[rank / 64].fetch_or(std::uint64_t{1} << (rank % 64));
  wake_sleepers();
  closing_.reset();
}

}  // namespace muster::comm::collective::shared
