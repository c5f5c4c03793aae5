#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/collective/schedule.h"
#include "muster/comm/collective/wire.h"

namespace muster::comm::collective {

/// Runs one rank's schedule on a wire, a bit further each time it is asked. Several may run on one
/// wire. Only from the thread that may use the wire. When it is destroyed before its end it
/// cancels.
class ScheduleRunner {
 public:
  /// The wire and the call's buffers outlive the runner. `first` is the slot of the call; its step
  /// counts from there. `earlier` is as in `Signature`.
  ScheduleRunner(Wire& wire, Call call, Schedule schedule, Slot first, std::uint16_t earlier = 0);
  ~ScheduleRunner() { cancel(); }
  ScheduleRunner(const ScheduleRunner&) = delete;
  ScheduleRunner& operator=(const ScheduleRunner&) = delete;

  /// Goes on as far as it can without waiting; the caller lets the wire make progress. True when
  /// all is done. An error ends the run and stays.
  [[nodiscard]] Result<bool> advance();
  /// A rank whose message, or whose room for one, was missing when it last could not go on;
  /// negative when none was.
  [[nodiscard]] int waits_for() const { return messages_.empty() ? -1 : messages_.back().peer; }

  /// Gives up: the buffers are not touched after this returns, what is in them is undefined.
  /// Idempotent.
  void cancel();

 private:
  enum class Stage : std::uint8_t { begin, wait, over };
  struct Message {
    Wire::Token token;
    int peer;
  };

  [[nodiscard]] std::byte* address(const Region& region);
  [[nodiscard]] Result<bool> messages_over();
  void begin_round();
  void work(const std::vector<Local>& locals);
  void work(const Local& local);
  [[nodiscard]] Slot next_slot(std::vector<std::uint16_t>& steps, int peer);

  Wire& wire_;
  Call call_;
  Schedule schedule_;
  Slot first_;
  Signature signature_;
  bool sends_empty_;                      // messages too
  std::unique_ptr<std::byte[]> scratch_;  // left uninitialised, it may be large
  std::vector<Message> messages_;         // of this round; the last one is not over
  std::vector<std::uint16_t> sent_;       // messages so far to each rank
  std::vector<std::uint16_t> received_;   // and from each
  std::size_t round_ = 0;
  Stage stage_ = Stage::begin;
  Result<bool> outcome_ = true;  // once over
};

}  // namespace muster::comm::collective
