#include "muster/comm/collective/shared/copy.h"

#include <vector>

#include <gtest/gtest.h>

namespace muster::comm::collective::shared {
namespace {

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>(i % 251);
  return result;
}

// Copies to and from every kind of place, and looks at what lies around the copy.
template <class Copy>
void expect_copies(std::size_t bytes, Copy copy) {
  constexpr std::size_t kMargin = 64;
  for (const std::size_t from : {0, 1, 16, 63}) {
    for (const std::size_t to : {0, 1, 16, 63}) {
      const auto source = numbered(from + bytes);
      std::vector<std::byte> target(to + bytes + kMargin, std::byte{0xEE});
      copy(target.data() + to, source.data() + from, bytes);
      const auto begin = target.begin() + static_cast<std::ptrdiff_t>(to);
      const auto end = begin + static_cast<std::ptrdiff_t>(bytes);
      ASSERT_TRUE(
          std::equal(begin, end, source.begin() + static_cast<std::ptrdiff_t>(from), source.end()))
          << bytes << " bytes from " << from << " to " << to;
      const auto untouched = [](std::byte value) { return value == std::byte{0xEE}; };
      ASSERT_TRUE(std::all_of(target.begin(), begin, untouched)) << bytes;
      ASSERT_TRUE(std::all_of(end, target.end(), untouched)) << bytes;
    }
  }
}

TEST(Copy, AheadIsTheSameAsWithoutLookingAhead) {
  for (const std::size_t bytes : {0, 1, 4, 8, 63, 64, 65, 255, 4095, 4096, 4097, 8192, 100'001}) {
    for (const std::size_t beyond : {std::size_t{0}, kPage}) {
      expect_copies(bytes, [&](auto* into, const auto* from, std::size_t size) {
        copy_ahead<false>(into, from, size, size + beyond);
      });
      expect_copies(bytes, [&](auto* into, const auto* from, std::size_t size) {
        copy_ahead<true>(into, from, size, size + beyond);
      });
    }
    expect_copies(bytes, copy_few);
  }
}

TEST(Copy, InAndOutChooseByWhatTheCallCopiesInAll) {
  for (const std::size_t whole : {std::size_t{1}, kStreamFrom}) {
    for (const std::size_t bytes : {0, 4, 8, 9, 5000}) {
      for (const bool past_cache : {false, true}) {
        expect_copies(bytes, [&](auto* into, const auto* from, std::size_t size) {
          copy_in(into, from, size, whole, past_cache);
        });
        expect_copies(bytes, [&](auto* into, const auto* from, std::size_t size) {
          copy_out(into, from, size, whole);
        });
      }
    }
  }
}

TEST(Copy, InAndOutAtOnceIsTheSameAsOneAfterTheOther) {
  for (const std::size_t whole : {std::size_t{1}, kStreamFrom}) {
    for (const std::size_t bytes : {0, 1, 63, 64, 65, 5000, 8192}) {
      for (const bool past_cache : {false, true}) {
        // Where others read is always the beginning of a line.
        expect_copies(bytes, [&](auto* own, const auto* from, std::size_t size) {
          std::vector<std::byte> room(size + 64);
          std::byte* const shared =
              room.data() + (-reinterpret_cast<std::uintptr_t>(room.data()) & 63);
          copy_in_and_out(shared, own, from, size, whole, past_cache);
          ASSERT_TRUE(std::equal(from, from + size, shared)) << size;
        });
      }
    }
  }
}

}  // namespace
}  // namespace muster::comm::collective::shared
