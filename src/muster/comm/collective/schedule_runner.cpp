#include "muster/comm/collective/schedule_runner.h"

#include <cstring>
#include <utility>

#include "muster/comm/errc.h"

namespace muster::comm::collective {
namespace {

std::size_t ranks_named(const Schedule& schedule) {
  int highest = -1;
  for (const Round& round : schedule.rounds) {
    for (const Send& send : round.sends) highest = std::max(highest, send.to);
    for (const Receive& receive : round.receives) highest = std::max(highest, receive.from);
  }
  return static_cast<std::size_t>(highest + 1);
}

/// Of a size that the compiler knows, so that a row takes a load and a store.
template <std::size_t kBytes>
void copy_rows(std::byte* into, const std::byte* from, const Rows& rows) {
  for (std::size_t row = 0; row < rows.count; ++row)
    std::memmove(into + row * rows.into_stride, from + row * rows.left_stride, kBytes);
}

void copy_rows(std::byte* into, const std::byte* from, std::size_t bytes, const Rows& rows) {
  switch (bytes) {
    case 1: return copy_rows<1>(into, from, rows);
    case 2: return copy_rows<2>(into, from, rows);
    case 4: return copy_rows<4>(into, from, rows);
    case 8: return copy_rows<8>(into, from, rows);
    case 16: return copy_rows<16>(into, from, rows);
    default: break;
  }
  for (std::size_t row = 0; row < rows.count; ++row)
    std::memmove(into + row * rows.into_stride, from + row * rows.left_stride, bytes);
}

}  // namespace

ScheduleRunner::ScheduleRunner(Wire& wire, Call call, Schedule schedule, Slot first,
                               std::uint16_t earlier)
    : wire_(wire),
      call_(std::move(call)),
      schedule_(std::move(schedule)),
      first_(first),
      signature_(signature(call_)),
      sends_empty_(!all_know_counts(call_) || total_bytes(call_, 1) == 0),
      scratch_(std::make_unique_for_overwrite<std::byte[]>(schedule_.scratch_bytes)),
      sent_(ranks_named(schedule_)),
      received_(sent_.size()) {
  signature_.earlier = earlier;
}

std::byte* ScheduleRunner::address(const Region& region) {
  switch (region.space) {
    // Schedules write to the input only where it is the output as well.
    case Space::input: return const_cast<std::byte*>(call_.input) + region.offset;
    case Space::output: return call_.output + region.offset;
    case Space::scratch: return scratch_.get() + region.offset;
  }
  return nullptr;
}

Slot ScheduleRunner::next_slot(std::vector<std::uint16_t>& steps, int peer) {
  Slot slot = first_;
  slot.step = steps[static_cast<std::size_t>(peer)]++;
  return slot;
}

void ScheduleRunner::begin_round() {
  const Round& round = schedule_.rounds[round_];
  // Receives first: a message that finds its place ready is not copied.
  for (const Receive& receive : round.receives)
    if (receive.into.bytes > 0 || sends_empty_)
      messages_.push_back({wire_.receive(receive.from, next_slot(received_, receive.from),
                                         signature_, {address(receive.into), receive.into.bytes}),
                           receive.from});
  for (const Send& send : round.sends)
    if (send.data.bytes > 0 || sends_empty_)
      messages_.push_back({wire_.send(send.to, next_slot(sent_, send.to), signature_,
                                      {address(send.data), send.data.bytes}),
                           send.to});
  work(round.meanwhile);
}

Result<bool> ScheduleRunner::messages_over() {
  while (!messages_.empty()) {
    const Result<bool> over = wire_.finished(messages_.back().token);
    if (!over) messages_.pop_back();  // the wire has forgotten it
    if (!over || !*over) return over;
    messages_.pop_back();
  }
  return true;
}

Result<bool> ScheduleRunner::advance() {
  while (stage_ != Stage::over) {
    if (stage_ == Stage::begin) {
      if (round_ == schedule_.rounds.size()) {
        stage_ = Stage::over;
        break;
      }
      begin_round();
      stage_ = Stage::wait;
    }
    Result<bool> over = messages_over();
    if (!over) {
      cancel();
      outcome_ = fail(std::move(over).error());
      break;
    }
    if (!*over) return false;
    work(schedule_.rounds[round_].then);
    ++round_;
    stage_ = Stage::begin;
  }
  return outcome_;
}

void ScheduleRunner::cancel() {
  for (const Message& message : messages_) wire_.cancel(message.token);
  messages_.clear();
  if (stage_ != Stage::over) outcome_ = fail(Errc::interrupted, "the call was cancelled");
  stage_ = Stage::over;
}

void ScheduleRunner::work(const std::vector<Local>& locals) {
  for (const Local& local : locals) work(local);
}

void ScheduleRunner::work(const Local& local) {
  if (local.into.bytes == 0) return;
  const std::size_t count = local.into.bytes / item_size(call_.element);
  std::byte* const into = address(local.into);
  switch (local.kind) {
    case Local::Kind::copy:
      copy_rows(into, address(local.left), local.into.bytes, local.rows);
      return;
    case Local::Kind::reduce:
      reduce(call_.reduction, call_.element, into, address(local.left), address(local.right),
             count);
      return;
    case Local::Kind::divide: divide(call_.element, into, count, local.divisor); return;
  }
}

}  // namespace muster::comm::collective
