#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::engine {

/// Worker indices; the smallest is found by words, not one by one.
class WorkerSet {
 public:
  void set(std::uint32_t worker, bool in) {
    const std::size_t word = worker / 64;
    const std::uint64_t bit = std::uint64_t{1} << (worker % 64);
    if (word >= words_.size()) words_.resize(word + 1);
    if (((words_[word] & bit) != 0) == in) return;
    words_[word] ^= bit;
    in ? ++size_ : --size_;
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Must not be empty.
  [[nodiscard]] std::uint32_t first() const { return next(0); }
  /// The smallest that is not below `from`; kNone if there is none.
  [[nodiscard]] std::uint32_t next(std::uint32_t from) const {
    for (std::size_t word = from / 64; word < words_.size(); ++word) {
      std::uint64_t bits = words_[word];
      if (word == from / 64) bits &= ~std::uint64_t{0} << (from % 64);
      if (bits != 0)
        return static_cast<std::uint32_t>(word * 64 +
                                          static_cast<std::size_t>(std::countr_zero(bits)));
    }
    return kNone;
  }

  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  template <class Archive>
  void archive(Archive& through) {
    through(words_, size_);
  }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t size_ = 0;
};

}  // namespace muster::engine
