#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "muster/comm/collective/shared/layout.h"

namespace muster::comm::collective::shared {

/// Output of more than this will not be found in the cache by whoever reads it next, so it is
/// written past it: that saves reading the lines that are overwritten.
inline constexpr std::size_t kStreamFrom = std::size_t{8} << 20;

#if defined(__x86_64__)
/// 64 bytes, read before any is written: a line past the cache is slow unless it is written at
/// once.
template <bool past_cache>
inline void copy_line(__m128i* into, const __m128i* from) {
  const __m128i a = _mm_loadu_si128(from);
  const __m128i b = _mm_loadu_si128(from + 1);
  const __m128i c = _mm_loadu_si128(from + 2);
  const __m128i d = _mm_loadu_si128(from + 3);
  if constexpr (past_cache) {
    _mm_stream_si128(into, a);
    _mm_stream_si128(into + 1, b);
    _mm_stream_si128(into + 2, c);
    _mm_stream_si128(into + 3, d);
  } else {
    _mm_store_si128(into, a);
    _mm_store_si128(into + 1, b);
    _mm_store_si128(into + 2, c);
    _mm_store_si128(into + 3, d);
  }
}
#endif

/// memcpy for what does not lie in the cache. The processor reads memory ahead within a page only,
/// so each page would begin with a wait: here every line is asked for a page ahead, as far as
/// `ahead_to` bytes from the beginning. `past_cache` leaves the copy out of the cache, too.
template <bool past_cache>
void copy_ahead(std::byte* into, const std::byte* from, std::size_t bytes, std::size_t ahead_to) {
  if (bytes == 0) return;  // both may be null
#if defined(__x86_64__)
  constexpr std::size_t kLine = 64;
  const std::size_t head = std::min(-reinterpret_cast<std::uintptr_t>(into) & (kLine - 1), bytes);
  std::memcpy(into, from, head);
  std::size_t at = head;
  for (; bytes - at >= kLine; at += kLine) {
    if (at + kPage < ahead_to)
      _mm_prefetch(reinterpret_cast<const char*>(from) + at + kPage, _MM_HINT_T0);
    copy_line<past_cache>(reinterpret_cast<__m128i*>(into + at),
                          reinterpret_cast<const __m128i*>(from + at));
  }
  std::memcpy(into + at, from + at, bytes - at);
  if constexpr (past_cache) _mm_sfence();
#else
  std::memcpy(into, from, bytes);
#endif
}

/// memcpy for what fits into a line: mostly it is a single item.
inline void copy_few(std::byte* into, const std::byte* from, std::size_t bytes) {
  if (bytes == 4) {
    std::memcpy(into, from, 4);
  } else if (bytes == 8) {
    std::memcpy(into, from, 8);
  } else if (bytes == 32) {
    std::memcpy(into, from, 32);
  } else if (bytes == 64) {
    std::memcpy(into, from, 64);
  } else if (bytes > 0) {
    std::memcpy(into, from, bytes);
  }
}

/// From the caller's memory to what others read; `whole` is how much the call copies in all. To
/// write past the cache pays where the others' cores have another one: a line would be taken from
/// one to the other twice, when it is read and when it is written again.
inline void copy_in(std::byte* into, const std::byte* from, std::size_t bytes, std::size_t whole,
                    bool past_cache) {
  if (bytes == 0) return;
  // The next piece lies right behind this one.
  const std::size_t ahead_to = bytes + kPage;
  if (past_cache) return copy_ahead<true>(into, from, bytes, ahead_to);
  if (whole >= kStreamFrom) return copy_ahead<false>(into, from, bytes, ahead_to);
  std::memcpy(into, from, bytes);
}

/// From another rank's memory to the caller's; `whole` is how much the call copies in all.
inline void copy_out(std::byte* into, const std::byte* from, std::size_t bytes, std::size_t whole) {
  if (into == from || bytes == 0) return;
  // Behind its end others may be writing.
  if (whole >= kStreamFrom) return copy_ahead<true>(into, from, bytes, bytes);
  copy_few(into, from, bytes);
}

}  // namespace muster::comm::collective::shared
