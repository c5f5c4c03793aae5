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
/// Of what is written past the cache.
inline constexpr std::size_t kStreamAlign = 16;

#if defined(__x86_64__)
/// 64 bytes, read before any is written: a line past the cache is slow unless it is written at
/// once.
struct CacheLine {
  static constexpr std::size_t kBytes = 64;

  explicit CacheLine(const std::byte* from) {
    const auto* parts = reinterpret_cast<const __m128i*>(from);
    a = _mm_loadu_si128(parts);
    b = _mm_loadu_si128(parts + 1);
    c = _mm_loadu_si128(parts + 2);
    d = _mm_loadu_si128(parts + 3);
  }
  template <bool past_cache>
  void write(std::byte* into) const {
    auto* parts = reinterpret_cast<__m128i*>(into);
    if constexpr (past_cache) {
      _mm_stream_si128(parts, a);
      _mm_stream_si128(parts + 1, b);
      _mm_stream_si128(parts + 2, c);
      _mm_stream_si128(parts + 3, d);
    } else {
      _mm_storeu_si128(parts, a);
      _mm_storeu_si128(parts + 1, b);
      _mm_storeu_si128(parts + 2, c);
      _mm_storeu_si128(parts + 3, d);
    }
  }

  __m128i a, b, c, d;
};

/// Asks for the line a page behind `at`, if there is one before `end`.
inline void ask_ahead(const std::byte* from, std::size_t at, std::size_t end) {
  if (at + kPage < end) _mm_prefetch(reinterpret_cast<const char*>(from) + at + kPage, _MM_HINT_T0);
}
#endif

/// memcpy for what does not lie in the cache. The processor reads memory ahead within a page only,
/// so each page would begin with a wait: here every line is asked for a page ahead, as far as
/// `ahead_to` bytes from the beginning. `past_cache` leaves the copy out of the cache, too.
template <bool past_cache>
void copy_ahead(std::byte* into, const std::byte* from, std::size_t bytes, std::size_t ahead_to) {
  if (bytes == 0) return;  // both may be null
#if defined(__x86_64__)
  const std::size_t head =
      std::min(-reinterpret_cast<std::uintptr_t>(into) & (CacheLine::kBytes - 1), bytes);
  std::memcpy(into, from, head);
  std::size_t at = head;
  for (; bytes - at >= CacheLine::kBytes; at += CacheLine::kBytes) {
    ask_ahead(from, at, ahead_to);
    CacheLine(from + at).write<past_cache>(into + at);
  }
  std::memcpy(into + at, from + at, bytes - at);
  if constexpr (past_cache) _mm_sfence();
#else
  std::memcpy(into, from, bytes);
#endif
}

/// From the caller's memory past the cache to what others read, and to `own`, which is the
/// caller's, too: each line is read once. `own_past_cache` needs an `own` that is aligned to
/// `kStreamAlign`, as `into` is.
template <bool own_past_cache>
void copy_ahead_twice(std::byte* into, std::byte* own, const std::byte* from, std::size_t bytes,
                      std::size_t ahead_to) {
#if defined(__x86_64__)
  std::size_t at = 0;
  for (; bytes - at >= CacheLine::kBytes; at += CacheLine::kBytes) {
    ask_ahead(from, at, ahead_to);
    const CacheLine line(from + at);
    line.write<true>(into + at);
    line.write<own_past_cache>(own + at);
  }
  std::memcpy(into + at, from + at, bytes - at);
  std::memcpy(own + at, from + at, bytes - at);
  _mm_sfence();
#else
  std::memcpy(into, from, bytes);
  std::memcpy(own, from, bytes);
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

/// `copy_in`, and `copy_out` to `own`, of the same bytes.
inline void copy_in_and_out(std::byte* into, std::byte* own, const std::byte* from,
                            std::size_t bytes, std::size_t whole, bool past_cache) {
  if (bytes == 0) return;
  if (past_cache && own != from) {
    const std::size_t ahead_to = bytes + kPage;  // as copy_in does
    const bool aligned = reinterpret_cast<std::uintptr_t>(own) % kStreamAlign == 0;
    if (whole >= kStreamFrom && aligned)
      return copy_ahead_twice<true>(into, own, from, bytes, ahead_to);
    return copy_ahead_twice<false>(into, own, from, bytes, ahead_to);
  }
  copy_in(into, from, bytes, whole, past_cache);
  copy_out(own, from, bytes, whole);  // while it is in the cache
}

}  // namespace muster::comm::collective::shared
