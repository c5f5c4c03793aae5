#pragma once

#include <algorithm>
#include <cstdint>

namespace muster::comm::collective::shared {

/// How a rank waits for others in the first microsecond of a call. A look at a line of cache that
/// is about to be written takes it away from its writer, who then has to fetch it back, and the
/// more the further apart the cores are. So there are pauses between two looks, one where a line is
/// quick to come; four where looks are in vain again and again.
///
/// Of two ranks that call back to back, the one that looked in vain falls behind by as long as a
/// line takes, and finds what it needs at its next first look; then it is ahead, looks too early in
/// its turn, and so on for ever. So it pauses before the look that would be in vain, and both come
/// closer.
class Pace {
 public:
  /// Between two looks.
  [[nodiscard]] int pauses() const { return pauses_; }
  /// Before the first look of a call.
  [[nodiscard]] int pauses_before() const { return is_ahead_ ? pauses_ : 0; }

  /// A call has ended, or waits in another way from now on, after so many looks in vain.
  void note(int vain) {
    is_ahead_ = vain == 0 && was_late_;
    was_late_ = vain > 0;
    if (vain > 0) note_vain(static_cast<std::uint32_t>(vain));
  }

 private:
  static constexpr std::uint32_t kCalls = 16;
  static constexpr int kFar = 4;
  // On average. One that waits for somebody who computes says little of how far the cores are.
  static constexpr std::uint32_t kManyLooks = 5;
  static constexpr std::uint32_t kFewLooks = 2;
  static constexpr std::uint32_t kMost = 32;

  void note_vain(std::uint32_t vain) {
    vain_ += std::min(vain, kMost);
    if (++calls_ < kCalls) return;
    if (vain_ > kManyLooks * kCalls) pauses_ = kFar;
    if (vain_ < kFewLooks * kCalls) pauses_ = 1;
    calls_ = vain_ = 0;
  }

  int pauses_ = 1;
  bool was_late_ = false;  // the last first look was in vain
  bool is_ahead_ = false;
  std::uint32_t calls_ = 0;  // with looks in vain, and how many those were
  std::uint32_t vain_ = 0;
};

}  // namespace muster::comm::collective::shared
