#include "muster/base/utf8.h"

#include <cstdint>

namespace muster {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

/// How many bytes a character has by its first; 0 if none begins like that.
std::size_t length(std::uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

/// Refuses what could be written shorter, surrogates, and what is above U+10FFFF.
bool second_byte_fits(std::uint8_t first, std::uint8_t second) {
  switch (first) {
    case 0xE0: return second >= 0xA0;
    case 0xED: return second < 0xA0;
    case 0xF0: return second >= 0x90;
    case 0xF4: return second < 0x90;
    default: return true;
  }
}

bool is_character(std::string_view bytes) {
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    if ((byte_at(bytes, i) & 0xC0) != 0x80) return false;
  }
  return bytes.size() == 1 || second_byte_fits(byte_at(bytes, 0), byte_at(bytes, 1));
}

}  // namespace

std::size_t utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t bytes = length(byte_at(text, at));
    if (bytes == 0 || bytes > text.size() - at || !is_character(text.substr(at, bytes))) break;
    at += bytes;
  }
  return at;
}

}  // namespace muster
