#pragma once

#include <algorithm>
#include <optional>

#include "muster/comm/collective/shared/block_map.h"
#include "muster/comm/collective/shared/combine.h"
#include "muster/comm/collective/shared/operation.h"

namespace muster::comm::collective::shared {

/// Allreduce with the work shared out. The `bytes` of the call go in chunks of a step; a chunk is
/// split into n parts, one for each rank. A chunk takes two steps: first every rank gives its
/// chunk; then every rank combines its part straight out of what the others gave and gives the
/// result, which all take. Ranks give up to two chunks ahead.
///
/// Steps: 2 · ⌈bytes / 32 KiB⌉. Bytes: every rank writes (n - 1)/n · bytes (nothing, if they lie in
/// its arena) and 1/n · bytes, reads bytes to combine and (n - 1)/n · bytes of results, and writes
/// bytes.
class SplitAllreduce final : public Operation {
 public:
  /// `way` unless there is only this one; ranks could also do it as in lent_allreduce.h.
  SplitAllreduce(Channel& channel, const Call& call, std::optional<Way> way)
      : task_(channel, call),
        pact_(task_),
        bytes_(call.count * task_.item),
        chunks_(std::max<std::size_t>(1, (bytes_ + kStepBytes - 1) / kStepBytes)),
        sources_(task_.ranks) {
    // Even in place: what others have not combined yet is not overwritten.
    const auto offset = channel.segment().arena_offset(call.input, bytes_);
    direct_ = offset ? *offset + 1 : 0;
    if (way) pact_.open(bytes_, *way);
  }

  [[nodiscard]] const Signature& signature() const override { return task_.signature; }
  [[nodiscard]] std::uint64_t position() const override { return task_.first; }
  [[nodiscard]] int waits_for() const override {
    if (given_ == collected_) return who_takes_room(first_step(given_));
    const int first = std::min(collected_ < combined_ ? seen_parts_ : task_.ranks,
                               combined_ < given_ ? who_holds_up_combining() : task_.ranks);
    return first < task_.ranks ? first : -1;
  }
  [[nodiscard]] bool awaits(int rank) const override {
    const auto is_silent = [&](std::uint64_t position) {
      return task_.channel.look(rank, position, task_.signature) == Channel::Look::nothing;
    };
    return combined_ < given_ ? is_silent(first_step(combined_))
                              : is_silent(first_step(collected_) + 1);
  }
  [[nodiscard]] bool is_lending() const override {
    return direct_ != 0 && given_ > 0 && collected_ < chunks_;
  }

  Progress advance() override {
    if (over_) return Progress::over;
    if (in_vain_) return Progress::waiting;
    Progress seen = Progress::waiting;
    for (bool moved = true; moved;) {
      moved = give();
      if (seen = combine_part(moved); seen == Progress::differs) return seen;
      if (seen = collect(moved); seen == Progress::differs) return seen;
    }
    if (collected_ < chunks_) return Progress::waiting;
    over_ = true;
    pact_.end();
    task_.channel.move_to(task_.first + 2 * chunks_);
    task_.channel.note_call(true);
    return Progress::over;
  }

  Progress compare() override { return compare_with(task_); }

 private:
  static constexpr std::size_t kChunksAhead = kAhead / 2;

  struct Part {
    std::size_t start;
    std::size_t bytes;
  };

  [[nodiscard]] std::size_t chunk_bytes(std::size_t chunk) const {
    return std::min(kStepBytes, bytes_ - chunk * kStepBytes);
  }
  [[nodiscard]] Part part(std::size_t chunk, int rank) const {
    const std::size_t whole = chunk_bytes(chunk);
    const auto ranks = static_cast<std::size_t>(task_.ranks);
    const std::size_t share = ((whole + ranks - 1) / ranks + 63) / 64 * 64;
    const std::size_t start = std::min(whole, static_cast<std::size_t>(rank) * share);
    return {start, std::min(share, whole - start)};
  }
  [[nodiscard]] std::uint64_t first_step(std::size_t chunk) const {
    return task_.first + 2 * chunk;
  }

  [[nodiscard]] int who_takes_room(std::uint64_t position) const {
    return task_.channel.who_takes_room(position, true);
  }
  [[nodiscard]] int who_holds_up_combining() const {
    const int taker = who_takes_room(first_step(combined_) + 1);
    return taker >= 0 ? taker : seen_chunk_;
  }

  bool give() {
    bool moved = false;
    for (; given_ < chunks_ && given_ <= collected_ + kChunksAhead; ++given_, moved = true) {
      const std::uint64_t at = first_step(given_);
      if (!task_.channel.may_say(at)) break;
      task_.mark(2 * given_, direct_);
      if (direct_ == 0) stage(given_);
      if (given_ == 0) pact_.say();
      task_.channel.say(at, task_.signature);
      news_ = true;
    }
    return moved;
  }
  void stage(std::size_t chunk) const {
    const Part own = part(chunk, task_.rank);
    const std::byte* const input = task_.call.input + chunk * kStepBytes;
    std::byte* const target = task_.channel.staging(first_step(chunk));
    copy_in(target, input, own.start, 0, pact_.streams());
    const std::size_t after = own.start + own.bytes;
    copy_in(target + after, input + after, chunk_bytes(chunk) - after, 0, pact_.streams());
  }

  Progress combine_part(bool& moved) {
    while (combined_ < given_ && task_.channel.may_say(first_step(combined_) + 1)) {
      const Progress seen = all_spoke(first_step(combined_), seen_chunk_);
      if (seen != Progress::over) return seen;
      if (combined_ == 0) pact_.hear();
      const std::uint64_t at = first_step(combined_);
      if (at > kAhead) task_.channel.know_finished(at - kAhead);
      const Part own = part(combined_, task_.rank);
      const std::size_t offset = combined_ * kStepBytes;
      for (int rank = 0; rank < task_.ranks; ++rank)
        sources_[rank] = (rank == task_.rank
                              ? task_.call.input + offset
                              : task_.given(rank, 2 * combined_, offset, chunk_bytes(combined_))) +
                         own.start;
      if (own.bytes > 0)
        combine(task_, task_.channel.staging(at + 1), sources_.all(), own.bytes,
                pact_.streams() ? kStreamFrom : 0);
      if (task_.borrowed_in_vain()) {
        in_vain_ = true;
        return Progress::waiting;  // for the end of the group
      }
      task_.channel.say(at + 1, task_.signature);
      ++combined_;
      news_ = moved = true;
    }
    return Progress::waiting;
  }

  Progress collect(bool& moved) {
    while (collected_ < combined_) {
      const std::uint64_t at = first_step(collected_) + 1;
      const Progress seen = all_spoke(at, seen_parts_);
      if (seen != Progress::over) return seen;
      for (int rank = 0; rank < task_.ranks; ++rank) {
        const Part theirs = part(collected_, rank);
        copy_out(task_.call.output + collected_ * kStepBytes + theirs.start,
                 task_.channel.staging(rank, at), theirs.bytes, bytes_);
      }
      ++collected_;
      task_.channel.finish(first_step(collected_));
      news_ = moved = true;
    }
    return Progress::over;
  }

  Progress all_spoke(std::uint64_t position, int& seen) {
    for (; seen < task_.ranks; ++seen) {
      if (seen == task_.rank) continue;
      switch (task_.channel.look(seen, position, task_.signature)) {
        case Channel::Look::same: continue;
        case Channel::Look::nothing: return Progress::waiting;
        case Channel::Look::differs: other_ = seen; return Progress::differs;
      }
    }
    seen = 0;
    return Progress::over;
  }

  Task task_;
  Pact pact_;
  std::size_t bytes_;
  std::size_t chunks_;
  Sources sources_;
  std::uint64_t direct_ = 0;
  std::size_t given_ = 0;      // chunks
  std::size_t combined_ = 0;   // chunks of which the own part is combined
  std::size_t collected_ = 0;  // chunks that are in the output
  int seen_chunk_ = 0;         // ranks before this one have given the chunk to combine
  int seen_parts_ = 0;         // and those have combined the chunk to collect
  bool over_ = false;
  bool in_vain_ = false;  // what was read may be wrong
};

}  // namespace muster::comm::collective::shared
