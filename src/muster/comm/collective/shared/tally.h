#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "muster/comm/collective/ballot.h"
#include "muster/comm/collective/call.h"

namespace muster::comm::collective::shared {

/// How many calls of a lane are over, and what the last of them was. Counted by who holds the lane,
/// which takes three plain stores into one line of cache, and read by anybody.
class alignas(64) Tally {
 public:
  void count(const Signature& signature) {
    const std::uint64_t calls = calls_.load(std::memory_order_relaxed) + 1;
    const auto words = std::bit_cast<SignatureWords>(signature);
    for (std::size_t i = 0; i < words.size(); ++i)
      last_[calls % 2][i].store(words[i], std::memory_order_release);
    calls_.store(calls, std::memory_order_release);
  }
  [[nodiscard]] Finished read() const {
    Finished finished;
    std::uint64_t calls = calls_.load(std::memory_order_acquire);
    do {
      finished.calls = calls;
      for (std::size_t i = 0; i < finished.last.size(); ++i)
        finished.last[i] = last_[calls % 2][i].load(std::memory_order_acquire);
      calls = calls_.load(std::memory_order_acquire);
      // The words of the call after the next one lie in the same place.
    } while (calls != finished.calls);
    return finished;
  }

 private:
  std::atomic<std::uint64_t> calls_{0};
  std::array<std::array<std::atomic<std::uint64_t>, 2>, 2> last_{};  // of odd and even calls
};

}  // namespace muster::comm::collective::shared
